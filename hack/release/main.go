// Command release does what a release needs beside goreleaser: it writes SBOMs,
// packs the chart, renders the krew manifest and judges the result.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/release/chart"
	"github.com/dbop-dev/kubectl-dbop/hack/release/dist"
	"github.com/dbop-dev/kubectl-dbop/hack/release/krew"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: version, sbom, chart, same, manifest, install, check")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	var (
		version   = flags.String("version", "", "version of the release, with its v")
		created   = flags.String("created", "", "date of the commit, RFC 3339")
		out       = flags.String("out", "", "file or directory to write to")
		source    = flags.String("source", ".", "tree that the release was made from")
		dir       = flags.String("dist", "dist", "where goreleaser put it")
		manifests = flags.String("manifests", "bin/release/manifests", "the manifests that go with it")
	)
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "version":
		return krew.CheckVersion(flags.Arg(0))
	case "sbom", "chart":
		date, err := time.Parse(time.RFC3339, *created)
		if err != nil {
			return fmt.Errorf("--created: %w", err)
		}
		if args[0] == "chart" {
			return chart.Pack(flags.Arg(0), *version, date, *out)
		}
		raw, err := dist.SBOM(flags.Arg(0), *version, date)
		if err != nil {
			return err
		}
		return os.WriteFile(*out, raw, 0o644) // #nosec G306 -- it is published
	case "manifest":
		r, err := dist.Read(*source, *dir, *manifests)
		if err != nil {
			return err
		}
		raw, err := r.Manifest()
		if err != nil {
			return err
		}
		return os.WriteFile(*out, raw, 0o644) // #nosec G306 -- it is published
	case "same":
		rendered, err := os.ReadFile(flags.Arg(0))
		if err != nil {
			return err
		}
		printed, err := os.ReadFile(flags.Arg(1))
		if err != nil {
			return err
		}
		return chart.Same(rendered, printed)
	case "install":
		return krew.InstallHere(flags.Arg(0), *dir, *out)
	case "check":
		r, err := dist.Read(*source, *dir, *manifests)
		if err != nil {
			return err
		}
		return dist.Check(r, flags.Arg(0))
	}
	return fmt.Errorf("%q is not known", args[0])
}
