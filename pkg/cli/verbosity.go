package cli

import (
	"strconv"

	"k8s.io/klog/v2"
)

// mostVerbose is the highest log level that shows no body of a request.
const mostVerbose = 7

// verbose has client-go log its requests.
func (f *Factory) verbose() error {
	switch {
	case f.verbosity < 0:
		return misuse("-v must be 0 or more")
	case f.verbosity == 0:
		return nil
	case f.verbosity > mostVerbose:
		f.note("-v %d counts as -v %d: higher levels show the bodies of requests, and these hold secrets", f.verbosity, mostVerbose)
	}
	klog.LogToStderr(false)
	klog.SetOutput(f.verbatim)
	var level klog.Level
	return level.Set(strconv.Itoa(min(f.verbosity, mostVerbose)))
}
