package operator

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// ownMemory is what the operator takes itself, of which the caches grow with
// the number of clusters: 103 MB with 1,000 of them.
const ownMemory = 112 << 20

// memoryFiles are where the kernel tells a container its limit, by version of its control groups.
func memoryFiles() []string {
	return []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
}

// memoryLimit is the limit of this container in bytes; math.MaxInt64 if there is none.
func memoryLimit(files []string) int64 {
	for _, file := range files {
		text, err := os.ReadFile(file) // #nosec G304 -- files of the kernel
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return math.MaxInt64
}

// fitting is how many clusters can be worked on at once, even if the members of
// all of them answer as much as they can.
func fitting(limit int64, wanted int) int {
	return max(1, int(min(int64(wanted), (limit-ownMemory)/engine.MostAnswers)))
}

// watch has the garbage collector keep within the limit what can be kept there.
func heed(limit int64) {
	if limit < math.MaxInt64 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}
