package storage

// release gives back one acquire; the last one frees the lock. A resource that is not held is ignored, because
// escalation may have freed it.
func (m *lockManager) release(o *lockOwner, res resource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := o.held[res]
	if s == nil {
		return
	}
	if g := s.grantOf(o); g.count > 1 {
		g.count--
		return
	}
	m.drop(o, s)
}

func (m *lockManager) drop(o *lockOwner, s *lockState) {
	for i, g := range s.granted {
		if g.owner == o {
			s.granted = append(s.granted[:i], s.granted[i+1:]...)
			break
		}
	}
	delete(o.held, s.res)
	m.wake(s)
}

// releaseAll frees everything that o holds and for which keep is nil or false.
func (m *lockManager) releaseAll(o *lockOwner, keep func(resource) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for res, s := range o.held {
		if keep == nil || !keep(res) {
			m.drop(o, s)
		}
	}
}

// modeOf is the mode in which o holds res.
func (m *lockManager) modeOf(o *lockOwner, res resource) Mode {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := o.held[res]; s != nil {
		return s.grantOf(o).mode
	}
	return NoMode
}
