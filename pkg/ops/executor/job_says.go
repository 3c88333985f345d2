package executor

import (
	"context"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// How often a pod is asked what it waits for, and how long that may take: it is no part of what is awaited.
const (
	heardEvery = 10 * time.Second
	hearWithin = 2 * time.Second
)

// said is what a pod of a Job waited for when its log was read last.
type said struct {
	pod, line string
	at        time.Time
}

// waitsFor is what a pod of a Job says that it waits for, as "; " and its words; "" where it does not wait, or where
// its log can't be read. It has no right to the API, so its log is where it says so.
func (l *Executor) waitsFor(ctx context.Context, pod, container string) string {
	if l.heard.pod == pod && l.Client.Now().Sub(l.heard.at) < heardEvery {
		return l.heard.line
	}
	l.heard = said{pod: pod, at: l.Client.Now()}
	ctx, cancel := context.WithTimeout(ctx, hearWithin)
	defer cancel()
	line, err := l.lastLine(ctx, pod, container)
	if waits, ok := strings.CutPrefix(line, helper.Waits); ok && err == nil {
		l.heard.line = "; " + ops.Printable(waits)
	}
	return l.heard.line
}

func (l *Executor) lastLine(ctx context.Context, pod, container string) (string, error) {
	if l.LastLine != nil {
		return l.LastLine(ctx, pod, container)
	}
	return l.Client.LastLine(ctx, l.Namespace, pod, container)
}
