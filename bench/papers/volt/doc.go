// Package volt holds a test fixture and nothing to use: the semaphore that Volt, an asynchronous
// runtime in Zig, has published, transcribed as it stands, with its defects. The tests let the
// explorer of internal/interleave find them, which shows that it sees bugs of this kind;
// docs/design/volt-defects.md lists them.
package volt
