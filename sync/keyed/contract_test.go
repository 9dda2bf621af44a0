package keyed_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/internal/locktest/semtest"
)

// What all mutexes promise, of one key.
func TestContract(t *testing.T) {
	t.Run("mutex", func(t *testing.T) { mutextest.RunFair(t, newMutex) })
	t.Run("several keys", func(t *testing.T) { mutextest.RunFair(t, newTwoKeys) })
	t.Run("rwmutex", func(t *testing.T) { rwtest.Run(t, rwKind()) })
	t.Run("semaphore", func(t *testing.T) { semtest.Run(t, semKind(), unlike...) })
}

const sizeIsConstant = "it calls Resize or Close, which these semaphores do not have"

var unlike = []semtest.Known{
	{Test: "OrderOfChecks", Why: sizeIsConstant},
	{Test: "SizeZeroCanBeResized", Why: sizeIsConstant},
	{Test: "HugeSizesActAsTheLargest", Why: sizeIsConstant},
	{Test: "ErrorIsTheContexts", Why: sizeIsConstant},
	{Test: "CloseAgainstCancel", Why: sizeIsConstant},
	{Test: "ResizeGrowthServesTheQueue", Why: sizeIsConstant},
	{Test: "ResizeEndsRequestsThatBecameTooLarge", Why: sizeIsConstant},
	{Test: "ResizeToNothing", Why: sizeIsConstant},
	{Test: "ResizeDownAndUpAdmitsNoMore", Why: sizeIsConstant},
	{Test: "ResizeAgainstEverything", Why: sizeIsConstant},
	{Test: "CloseWakesAll", Why: sizeIsConstant},
	{Test: "CloseAgainstAcquire", Why: sizeIsConstant},
	{Test: "StressWithResizeConservesPermits", Why: sizeIsConstant},
	{Test: "StressWithResizeHoldsNoMoreThanTheLargestSize", Why: sizeIsConstant},
}
