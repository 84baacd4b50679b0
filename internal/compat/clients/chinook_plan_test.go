package clients

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// transaction is a step of a chinookPlan.
type transaction struct {
	Statements []statement `json:"statements"`
	Rollback   bool        `json:"rollback"`
}

// statement is its text, with %s for each parameter, and the parameters.
type statement [2]any

// chinookPlan makes random transactions that fit Chinook's foreign keys, and knows which rows are there.
type chinookPlan struct {
	rng  *rand.Rand
	next int // a key that was never used

	artists, albums, tracks, genres, media, customers, employees, playlists []int
	own                                                                     []int // genres without a track, made by the plan
	lines                                                                   map[int][]int
	onList                                                                  map[int]map[int]bool // tracks by playlist

	tran []statement
	undo []func()
}

// transaction makes the next transaction. One in ten is rolled back.
func (p *chinookPlan) transaction() transaction {
	p.tran, p.undo = nil, nil
	for n := 1 + p.rng.IntN(3); n > 0 || len(p.tran) == 0; n-- { // a step has nothing to do when its rows are not there
		p.step()
	}
	out := transaction{Statements: p.tran, Rollback: p.rng.IntN(10) == 0}
	if out.Rollback {
		for _, f := range slices.Backward(p.undo) {
			f()
		}
	}
	return out
}

func (p *chinookPlan) do(text string, args ...any) {
	if args == nil {
		args = []any{}
	}
	p.tran = append(p.tran, statement{text, args})
}

func (p *chinookPlan) id() int { p.next++; return p.next }

func (p *chinookPlan) one(ids []int) int { return ids[p.rng.IntN(len(ids))] }

// add puts a key to those that are there, until a rollback.
func (p *chinookPlan) add(ids *[]int, id int) {
	*ids = append(*ids, id)
	p.undo = append(p.undo, func() { *ids = slices.DeleteFunc(*ids, func(x int) bool { return x == id }) })
}

func (p *chinookPlan) text() any {
	words := []string{"naïve", "Łukasz", "東京", "O'Brien", "<b>&\"", "tab\there", "😀", " blank ", "", "100%", `a\b`}
	n := p.rng.IntN(4)
	if n == 0 {
		return nil
	}
	var b []string
	for range n {
		b = append(b, words[p.rng.IntN(len(words))])
	}
	return strings.Join(b, " ")
}

func (p *chinookPlan) price() string { return fmt.Sprintf("%d.%02d", p.rng.IntN(90), p.rng.IntN(100)) }

func (p *chinookPlan) when() string {
	return fmt.Sprintf("%d-%02d-%02dT%02d:%02d:%02d.%03d", 1960+p.rng.IntN(70), 1+p.rng.IntN(12), 1+p.rng.IntN(28), p.rng.IntN(24), p.rng.IntN(60), p.rng.IntN(60), p.rng.IntN(1000))
}

// step adds the statements of one random thing that happens in a shop.
func (p *chinookPlan) step() {
	steps := []func(){p.release, p.sale, p.sale, p.prices, p.customer, p.employee, p.cancel, p.renumber, p.genre, p.listen, p.listen, p.reorder, p.relist, p.tidy}
	steps[p.rng.IntN(len(steps))]()
}

// release adds an artist with an album and its tracks.
func (p *chinookPlan) release() {
	artist, album := p.id(), p.id()
	p.do("INSERT dbo.Artist (ArtistId, Name) VALUES (%s, %s)", artist, p.text())
	p.do("INSERT INTO dbo.Album VALUES (%s, %s, %s)", album, fmt.Sprintf("Album №%d", album), artist)
	p.add(&p.artists, artist)
	p.add(&p.albums, album)
	var rows []string
	var args []any
	for range 1 + p.rng.IntN(6) {
		track := p.id()
		rows = append(rows, "(%s, %s, %s, %s, %s, %s, %s, %s, %s)")
		args = append(args, track, fmt.Sprintf("Track %d", track), album, p.one(p.media), p.one(p.genres), p.text(), p.rng.IntN(1<<30), p.rng.IntN(1<<30), p.price())
		p.add(&p.tracks, track)
	}
	p.do("INSERT dbo.Track (TrackId, Name, AlbumId, MediaTypeId, GenreId, Composer, Milliseconds, Bytes, UnitPrice) VALUES "+strings.Join(rows, ", "), args...)
}

// sale adds an invoice with consecutive lines, sometimes of a new customer.
func (p *chinookPlan) sale() {
	customer := p.one(p.customers)
	if p.rng.IntN(3) == 0 {
		customer = p.id()
		p.do("INSERT dbo.Customer (CustomerId, FirstName, LastName, Company, City, Email, SupportRepId) VALUES (%s, %s, %s, %s, %s, %s, %s)",
			customer, "Ana", "Ž.", p.text(), p.text(), fmt.Sprintf("c%d@example.com", customer), p.one(p.employees))
		p.add(&p.customers, customer)
	}
	invoice := p.id()
	p.do("INSERT dbo.Invoice (InvoiceId, CustomerId, InvoiceDate, BillingCity, Total) VALUES (%s, %s, %s, %s, %s)", invoice, customer, p.when(), p.text(), p.price())
	var lines []int
	for range 1 + p.rng.IntN(5) {
		line := p.id()
		p.do("INSERT dbo.InvoiceLine VALUES (%s, %s, %s, %s, %s)", line, invoice, p.one(p.tracks), p.price(), 1+p.rng.IntN(9))
		lines = append(lines, line)
	}
	p.id() // so that the lines can be moved up by one
	p.setLines(invoice, lines)
}

func (p *chinookPlan) setLines(invoice int, lines []int) {
	old, was := p.lines[invoice]
	p.lines[invoice] = lines
	if lines == nil {
		delete(p.lines, invoice)
	}
	p.undo = append(p.undo, func() {
		p.lines[invoice] = old
		if !was {
			delete(p.lines, invoice)
		}
	})
}

// invoice is a random one.
func (p *chinookPlan) invoice() int {
	all := slices.Sorted(maps.Keys(p.lines))
	return p.one(all)
}

// prices changes many rows, some of them without changing anything.
func (p *chinookPlan) prices() {
	p.do("UPDATE dbo.Track SET UnitPrice = UnitPrice + 0.01, Composer = %s WHERE AlbumId = %s", p.text(), p.one(p.albums))
	p.do("UPDATE dbo.Track SET Milliseconds = Milliseconds WHERE TrackId = %s", p.one(p.tracks))
}

func (p *chinookPlan) customer() {
	p.do("UPDATE dbo.Customer SET Company = %s, Phone = NULL, Email = %s, SupportRepId = %s WHERE CustomerId = %s", p.text(), "new@example.org", p.one(p.employees), p.one(p.customers))
}

func (p *chinookPlan) employee() {
	p.do("UPDATE dbo.Employee SET HireDate = %s, Title = %s, BirthDate = NULL WHERE EmployeeId = %s", p.when(), p.text(), p.one(p.employees))
}

// cancel deletes an invoice and its lines.
func (p *chinookPlan) cancel() {
	if len(p.lines) < 100 {
		return
	}
	invoice := p.invoice()
	p.do("DELETE FROM dbo.InvoiceLine WHERE InvoiceId = %s", invoice)
	p.do("DELETE FROM dbo.Invoice WHERE InvoiceId = %s", invoice)
	p.setLines(invoice, nil)
}

// renumber changes the keys of an invoice's lines: by one, so that each takes the key of its neighbour, or to new ones.
func (p *chinookPlan) renumber() {
	invoice := p.invoice()
	lines := slices.Clone(p.lines[invoice])
	if len(lines) == 0 {
		return
	}
	by := 1
	if lines[0] < 100_000 || lines[len(lines)-1] > 10_000_000 || lines[0]%7 == 0 { // Chinook's own, and those that have moved
		by = 10_000_000
	}
	for i := range lines {
		lines[i] += by
	}
	if by == 1 { // once only: then the key after them is taken
		p.do("UPDATE dbo.InvoiceLine SET InvoiceLineId = InvoiceLineId + 1, Quantity = Quantity + 1 WHERE InvoiceId = %s", invoice)
		p.do("UPDATE dbo.InvoiceLine SET InvoiceLineId = InvoiceLineId - 1 WHERE InvoiceId = %s", invoice)
		return
	}
	if lines[len(lines)-1] > 100_000_000 {
		return
	}
	p.do("UPDATE dbo.InvoiceLine SET InvoiceLineId = InvoiceLineId + %s WHERE InvoiceId = %s", by, invoice)
	p.setLines(invoice, lines)
}

// genre adds a genre or a medium, changes one, or deletes one that no track has.
func (p *chinookPlan) genre() {
	switch {
	case p.rng.IntN(3) == 0 && len(p.own) > 0:
		id := p.one(p.own)
		p.do("DELETE dbo.Genre WHERE GenreId = %s", id)
		p.own = slices.DeleteFunc(p.own, func(x int) bool { return x == id })
		p.undo = append(p.undo, func() { p.own = append(p.own, id) })
	case p.rng.IntN(2) == 0:
		id := p.id()
		p.do("INSERT dbo.Genre VALUES (%s, %s)", id, p.text())
		p.add(&p.own, id)
	case p.rng.IntN(4) == 0:
		id := p.id()
		p.do("INSERT dbo.MediaType VALUES (%s, %s)", id, p.text())
		p.add(&p.media, id)
	default:
		p.do("UPDATE dbo.MediaType SET Name = %s WHERE MediaTypeId = %s", p.text(), p.one(p.media))
		p.do("UPDATE dbo.Playlist SET Name = %s WHERE PlaylistId = %s", p.text(), p.one(p.playlists))
	}
}

// list changes what is on a playlist, until a rollback.
func (p *chinookPlan) list(list, track int, there bool) {
	m := p.onList[list]
	if m == nil {
		m = map[int]bool{}
		p.onList[list] = m
	}
	was := m[track]
	set := func(on bool) {
		delete(m, track)
		if on {
			m[track] = true
		}
	}
	set(there)
	p.undo = append(p.undo, func() { set(was) })
}

// listen puts tracks on a playlist, or on a new one.
func (p *chinookPlan) listen() {
	list := p.one(p.playlists)
	if p.rng.IntN(4) == 0 {
		list = p.id()
		p.do("INSERT dbo.Playlist VALUES (%s, %s)", list, p.text())
		p.add(&p.playlists, list)
	}
	var rows []string
	var args []any
	for range 1 + p.rng.IntN(8) {
		track := p.one(p.tracks)
		if p.onList[list][track] {
			continue
		}
		rows, args = append(rows, "(%s, %s)"), append(args, list, track)
		p.list(list, track, true)
	}
	if rows != nil {
		p.do("INSERT dbo.PlaylistTrack VALUES "+strings.Join(rows, ", "), args...)
	}
}

// reorder changes the key of one row of PlaylistTrack.
func (p *chinookPlan) reorder() {
	list, to := p.one(p.playlists), p.one(p.tracks)
	tracks := slices.Sorted(maps.Keys(p.onList[list]))
	if len(tracks) == 0 || p.onList[list][to] {
		return
	}
	from := p.one(tracks)
	p.do("UPDATE dbo.PlaylistTrack SET TrackId = %s WHERE PlaylistId = %s AND TrackId = %s", to, list, from)
	p.list(list, from, false)
	p.list(list, to, true)
}

// relist moves all tracks of a small playlist to a new one: a key change of many rows.
func (p *chinookPlan) relist() {
	list := p.one(p.playlists)
	tracks := slices.Sorted(maps.Keys(p.onList[list]))
	if len(tracks) > 60 {
		return
	}
	to := p.id()
	p.do("INSERT dbo.Playlist VALUES (%s, NULL)", to)
	p.do("UPDATE dbo.PlaylistTrack SET PlaylistId = %s WHERE PlaylistId = %s", to, list)
	p.add(&p.playlists, to)
	for _, t := range tracks {
		p.list(list, t, false)
		p.list(to, t, true)
	}
}

// tidy takes some tracks from a playlist.
func (p *chinookPlan) tidy() {
	list := p.one(p.playlists)
	tracks := slices.Sorted(maps.Keys(p.onList[list]))
	if len(tracks) == 0 {
		return
	}
	from := p.rng.IntN(len(tracks))
	some := tracks[from:min(from+1+p.rng.IntN(5), len(tracks))]
	p.do("DELETE dbo.PlaylistTrack WHERE PlaylistId = %s AND TrackId BETWEEN %s AND %s", list, some[0], some[len(some)-1])
	for _, t := range some {
		p.list(list, t, false)
	}
}
