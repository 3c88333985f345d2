// Command components is the whole of Kubernetes in one binary: it becomes
// the component that its first argument, or the name it is called by, says.
//
// It is a module of its own because k8s.io/kubernetes can only be imported
// with a replace for each of its staging modules, and because its dependencies
// must never reach a module that somebody else builds.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/component-base/cli"
)

func main() {
	os.Exit(run(os.Args))
}

// run picks the component and leaves os.Args as that component would have
// seen it under its own name: some of them read os.Args themselves.
func run(args []string) int {
	name := filepath.Base(args[0])
	if _, ok := components[name]; !ok {
		if len(args) < 2 {
			return usage()
		}
		name, args = args[1], args[1:]
	}
	start, ok := components[name]
	if !ok {
		return usage()
	}
	os.Args = append([]string{name}, args[1:]...)
	return start(os.Args)
}

// usage lists the names on standard error.
func usage() int {
	names := make([]string, 0, len(components))
	for name := range components {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(os.Stderr, "usage: components {%s} [flags]\n", strings.Join(names, "|"))
	return 2
}

// cobraCommand runs an upstream command constructor as upstream's own main
// does: with its logging, its signal handling and its exit code.
func cobraCommand(construct constructor) func([]string) int {
	return func([]string) int { return cli.Run(construct()) }
}
