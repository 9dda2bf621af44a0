// Package observed has the hooks by which locks record what happens to them. Package records makes
// the records, and package observe shows them.
//
// A lock that is observed has a bit O in its word, which keeps everybody off its fast paths. Its
// slow paths see the bit, and look up the lock's [Record] by [Of]. Then they do the same as those
// of a lock that is not observed, and call three hooks with a [Request]:
//
//   - AtOnce, or Tried, after a request that did not wait has taken its permits or has failed;
//   - [Await] around a wait, which begins before the request is queued and ends after it has left
//     the queue;
//   - Released before permits are given back.
//
// The order is the same in all locks: what is recorded as held is held. A request that is cancelled
// after its grant gives the permits back first, and they were never recorded. A future calls the
// hooks of a [waiting.Recorder] in the same order, from [StartFuture] on.
//
// A lock that is not observed knows nothing of this package, but for one load of [Everything] on
// slow paths.
package observed
