package store

// An Op puts an entry with a weight, or deletes it if that is 0. It is guarded by the entry's last
// change, or by its absence if Mod is 0.
type Op struct {
	Key
	Mod    int64
	Weight int64
}

// A Txn is a transaction: all of its operations, if the guards of all are true; otherwise nothing.
// Its entries are all of one session.
type Txn struct {
	Ops []Op // at most MostOps, of different entries

	// Merges says that operations make one entry of several. Then the transaction is guarded by the
	// size's last change, SizeMod, as well.
	Merges  bool
	SizeMod int64
}

// MostOps is how many operations a transaction has at most. By default etcd refuses one for which
// it counts more than 128 (--max-txn-ops): guards, operations if they are true, or operations if
// not. Two guards come on top, one read if they are true and two if not. So all three together are
// no more than 128.
const MostOps = 61

// MaxWeight is the largest weight, and the largest size.
const MaxWeight int64 = 1 << 59
