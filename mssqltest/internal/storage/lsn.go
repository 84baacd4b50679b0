package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
)

// LSN is a log sequence number: virtual log file (4 bytes), block (4 bytes), slot (2 bytes), compared bytewise.
type LSN [10]byte

// NewLSN makes an LSN of its three parts.
func NewLSN(vlf, block uint32, slot uint16) LSN {
	var l LSN
	binary.BigEndian.PutUint32(l[0:], vlf)
	binary.BigEndian.PutUint32(l[4:], block)
	binary.BigEndian.PutUint16(l[8:], slot)
	return l
}

// ParseLSN reads the form that String writes.
func ParseLSN(s string) (LSN, error) {
	var vlf, block uint32
	var slot uint16
	if n, err := fmt.Sscanf(s, "%08x:%08x:%04x", &vlf, &block, &slot); err != nil || n != 3 || len(s) != 22 {
		return LSN{}, fmt.Errorf("parsing LSN %q: want xxxxxxxx:xxxxxxxx:xxxx", s)
	}
	return NewLSN(vlf, block, slot), nil
}

// String is the form of the DMVs: 00000025:000001a8:0003.
func (l LSN) String() string { return fmt.Sprintf("%x:%x:%x", l[0:4], l[4:8], l[8:10]) }

// Compare orders l and m.
func (l LSN) Compare(m LSN) int { return bytes.Compare(l[:], m[:]) }

// IsZero says whether l is the zero LSN, which is below every LSN that is given out.
func (l LSN) IsZero() bool { return l == LSN{} }

// The sizes of the pretended log: small enough that long tests pass the end of a block and of a virtual log file.
const (
	slotsPerBlock = 0x40
	blockStep     = 8
	blocksPerVLF  = 0x10000
)

// lsnClock gives out increasing LSNs.
type lsnClock struct {
	mu         sync.Mutex
	vlf, block uint32
	slot       uint16
}

func newLSNClock() *lsnClock { return &lsnClock{vlf: 0x25, block: 0x1a0} }

// next is the LSN of one log record.
func (c *lsnClock) next() LSN {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slot++; c.slot > slotsPerBlock {
		c.advance()
	}
	return NewLSN(c.vlf, c.block, c.slot)
}

// nextBlock is the LSN of a record that begins a block, as a commit does when it flushes the log.
func (c *lsnClock) nextBlock() LSN {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return NewLSN(c.vlf, c.block, c.slot)
}

func (c *lsnClock) advance() {
	c.slot = 1
	if c.block += blockStep; c.block >= blocksPerVLF {
		c.vlf, c.block = c.vlf+1, 0x10
	}
}

// position and restore are for backups: a restored database goes on from the backup's position.
func (c *lsnClock) position() LSN {
	c.mu.Lock()
	defer c.mu.Unlock()
	return NewLSN(c.vlf, c.block, c.slot)
}

func (c *lsnClock) restore(l LSN) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.vlf, c.block, c.slot = binary.BigEndian.Uint32(l[0:]), binary.BigEndian.Uint32(l[4:]), binary.BigEndian.Uint16(l[8:])
}
