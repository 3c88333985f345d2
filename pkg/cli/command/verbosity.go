package command

import (
	"strconv"

	"k8s.io/klog/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// mostVerbose is the highest log level that shows no body of a request.
const mostVerbose = 7

// Verbose has client-go log its requests.
func (f *Factory) Verbose() error {
	switch {
	case f.Verbosity < 0:
		return exit.Misuse("-v must be 0 or more")
	case f.Verbosity == 0:
		return nil
	case f.Verbosity > mostVerbose:
		f.Note("-v %d counts as -v %d: higher levels show the bodies of requests, and these hold secrets", f.Verbosity,
			mostVerbose)
	}
	klog.LogToStderr(false)
	klog.SetOutput(f.Verbatim)
	var level klog.Level
	return level.Set(strconv.Itoa(min(f.Verbosity, mostVerbose)))
}
