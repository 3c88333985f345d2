package process

import (
	"os"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Gone tells whether a component ended that nobody ended by End, and which
// process it was.
func Gone(at site.Site, name string) (string, bool) {
	content, err := os.ReadFile(at.PID(name))
	if err != nil {
		return "", false
	}
	text := strings.TrimSpace(string(content))
	pid, err := strconv.Atoi(text)
	if err != nil || cgroup.Contains(pid) {
		return "", false
	}
	// End removes the file before it kills.
	now, err := os.ReadFile(at.PID(name))
	return text, err == nil && string(now) == string(content)
}
