package antspool

// MayBlock tells what New has found out about the ants pool.
func (p *Pool) MayBlock() bool { return p.mayBlock }

// SetSubmit sets what asks ants for goroutines. Nothing may have been submitted.
func (p *Pool) SetSubmit(submit func(fn func()) error) { p.submit = submit }

// Retries returns how often the timer has gone off.
func (p *Pool) Retries() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.retries.count
}

// Idle reports whether no job waits, and the pool has nothing left to run.
func (p *Pool) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.len == 0 && p.ready.len == 0 && p.doomed.len == 0 && p.lookers == 0 && p.handing == 0 &&
		p.asking == 0
}

const (
	MaxDelay   = maxDelay
	RetryFirst = minDelay
)
