package command

import (
	"io"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// advice is a writer that completes the commands inside what it is given: each
// write holds whole commands.
type advice struct {
	w        io.Writer
	complete func(string) string
}

// Write implements io.Writer.
func (a advice) Write(p []byte) (int, error) {
	if _, err := io.WriteString(a.w, a.complete(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Results is standard output for what holds suggested commands.
func (f *Factory) Results() io.Writer { return advice{f.Streams.Out, f.complete} }

// complete makes every suggested command one that can be pasted: it has the
// namespace, and says which Kubernetes is meant where this command line did.
func (f *Factory) complete(text string) string {
	namespace := ""
	if strings.Contains(text, "kubectl") {
		// Without a readable configuration there is no namespace to name.
		namespace, _ = f.Namespace()
	}
	return f.completeIn(text, namespace)
}

// completeIn is complete for what is in another namespace.
func (f *Factory) completeIn(text, namespace string) string {
	if !strings.Contains(text, "kubectl") {
		return text
	}
	text = ops.InNamespace(text, namespace)
	for _, given := range []struct{ flag, value string }{{"--kubeconfig", *f.Flags.KubeConfig},
		{"--context", *f.Flags.Context}} {
		if given.value != "" {
			text = ops.WithFlag(text, given.flag, Words([]string{given.value}))
		}
	}
	return text
}
