//go:build !interleave

package limitsim_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/limitsim"
)

var record = flag.Bool("record", false, "write testdata/http.txt anew")

// How testdata/http.txt was recorded: by go test -run Recorded -record in this folder, on a busy
// machine of two processors. An HTTP server on the loopback interface compresses a text whose
// length is log-uniform between 8 and 512 KiB. One client sends a request after the other. What
// counts is the time until the answer has arrived in full, with all that the collector of garbage,
// the scheduler and other programs add to it.
func TestRecorded(t *testing.T) {
	if *record {
		require.NoError(t, os.WriteFile("testdata/http.txt", records(t), 0o644))
		return // what is embedded is what was there before
	}
	all := limitsim.Recorded()
	require.Len(t, all, recordings)
	for _, d := range all {
		require.True(t, d > 10*time.Microsecond && d < time.Second, d)
	}
}

const recordings = 4000

func records(t *testing.T) []byte {
	text := make([]byte, 512<<10)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range text {
		text[i] = "aaaabbcdeeeeeefghiiklmnnnoopqrrsstttuvwxyz     "[r.IntN(47)]
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		n, _ := strconv.Atoi(q.FormValue("n"))
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(text[:n])
		_ = z.Close()
		_, _ = w.Write(packed.Bytes())
	}))
	defer server.Close()

	var out bytes.Buffer
	for i := range recordings {
		n := int(8 << 10 * math.Exp2(6*r.Float64()))
		began := time.Now()
		answer, err := server.Client().Get(server.URL + "?n=" + strconv.Itoa(n))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		end := " "
		if i%20 == 19 {
			end = "\n"
		}
		fmt.Fprintf(&out, "%d%s", time.Since(began).Microseconds(), end)
	}
	return out.Bytes()
}
