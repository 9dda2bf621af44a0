package spec

// A Clock numbers the calls and the returns of a history. The explorer's runs are clocks.
type Clock interface {
	Invoke() int64
	Respond() int64
}

// A Recorder records the operations of one client.
type Recorder struct {
	Clock  Clock
	Client int
	Ops    []Op // those that have returned
}

// Do records an operation that f carries out.
func (r *Recorder) Do(k Kind, n int64, f func() Result) Result {
	return r.Record(Op{Kind: k, N: n}, f)
}

// Record is Do for an operation with more than a kind and a number.
func (r *Recorder) Record(o Op, f func() Result) Result {
	o.Client = r.Client
	o.Call = r.Clock.Invoke()
	o.Result = f()
	o.Return = r.Clock.Respond()
	r.Ops = append(r.Ops, o)
	return o.Result
}
