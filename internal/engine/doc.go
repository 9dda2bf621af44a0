// Package engine counts permits and queues those who wait for them: the one mechanism under the
// locks of this module.
package engine
