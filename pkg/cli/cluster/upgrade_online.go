package cluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/online"
)

// observeBoth bounds one observation of two clusters.
const observeBoth = time.Minute

// onlineUpgrade is an upgrade into a second cluster, as the flags ask for it.
type onlineUpgrade struct {
	change *command.Change
	// online, back and finish choose the way.
	online, back, finish bool
	// into is the name of the second cluster, image its image if it is not the catalog's.
	into, image   string
	allowDowntime bool
	// version is the full one; "" on the way back.
	version string
}

// define defines the flags.
func (u *onlineUpgrade) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&u.online, "online", false, "Copy the data into a second cluster of that version, which follows "+
		"this one, and then send the clients there; ask before.")
	flags.StringVar(&u.into, "into", "", "Name of the second cluster; NAME-vMAJOR if not set.")
	flags.BoolVar(&u.back, "back", false, "With --online: go back to this cluster, with all that was written since.")
	flags.BoolVar(&u.finish, "finish", false, "With --online: give up the way back, and stop this cluster.")
}

// check judges the flags.
func (u *onlineUpgrade) check(version string) error {
	switch {
	case !u.online && (u.back || u.finish || u.into != ""):
		return exit.Misuse("--into, --back and --finish are of an upgrade with --online")
	case u.back && u.finish:
		return exit.Misuse("--back and --finish exclude each other")
	case u.online && (u.back || u.finish) && version != "":
		return exit.Misuse("--back and --finish take no --version: name the second cluster with --into")
	case u.online && (u.back || u.finish) && u.into == "":
		return exit.Misuse("--into must name the second cluster")
	case version == "" && !u.back && !u.finish:
		return exit.Misuse("--version is required")
	}
	return nil
}

// start finds the full version, and begins or goes on.
func (u *onlineUpgrade) start(ctx context.Context, args []string, version string) error {
	former, err := u.change.Factory.Target(ctx, args)
	if err != nil {
		return err
	}
	if version != "" {
		release, err := former.Engine.Catalog().Resolve(version)
		switch {
		case err == nil:
			u.version = release.Version
		case u.image == "":
			return err
		default:
			u.version = version
		}
	}
	return u.run(ctx, former)
}

// run does one stage after the other, until there is none left.
func (u *onlineUpgrade) run(ctx context.Context, former *clients.Target) error {
	if u.into == "" {
		u.into = secondName(former.Cluster.Name, u.version)
	}
	if err := CheckName(u.into); err != nil {
		return err
	}
	next := online.Forward
	switch {
	case u.back:
		next = online.Back
	case u.finish:
		next = online.Ended
	}
	var p online.Pair
	var err error
	for last, known := online.Done, false; ; {
		if !known {
			if p, err = u.observe(ctx, former); err != nil {
				return err
			}
		}
		stage, err := next(p)
		switch {
		case err != nil:
			return err
		case stage == online.Done:
			u.done(p, last)
			return nil
		case stage == last:
			return &ops.Error{Kind: ops.Failed, Check: "online", Message: fmt.Sprintf("stage %q of %s has ended, and is still "+
				"to be done", stage, former.Cluster.Name), Hint: "kubectl dbop status " + former.Cluster.Name}
		}
		if stage == online.Adopt {
			if p, known, err = u.adopt(ctx, former, p); err != nil {
				return err
			}
			last = stage
			continue
		}
		in, err := u.intent(ctx, p, stage)
		if err != nil {
			return err
		}
		u.change.Factory.Note("%s: %s", former.Cluster.Name, heading(stage, former.Cluster.Name, u.into))
		err = u.change.Run(ctx, in)
		if err != nil || u.change.Planning() || u.change.DryRun != command.DryRunNone || stage == online.Finish {
			return err
		}
		p, known = p.After(stage)
		last = stage
	}
}

// adopt puts the second cluster under a custom resource, as the first one is: else nobody would mend it. A plan does as
// if it were so.
func (u *onlineUpgrade) adopt(ctx context.Context, former *clients.Target, p online.Pair) (_ online.Pair, known bool,
	err error) {
	f := u.change.Factory
	f.Note("%s: %s", former.Cluster.Name, heading(online.Adopt, former.Cluster.Name, u.into))
	if u.change.Planning() || u.change.DryRun != command.DryRunNone {
		p.Next.Cluster = p.Next.Cluster.DeepCopy()
		metav1.SetMetaDataAnnotation(&p.Next.Cluster.ObjectMeta, v1alpha1.AnnotationCustom, u.into)
		return p, true, nil
	}
	t := *former
	t.Cluster = p.Next.Cluster
	if err := f.Clients.Adopt(ctx, &t); err != nil && ops.KindOf(err) != ops.Unchanged {
		return p, false, err
	}
	return p, false, nil
}

// observe observes both clusters.
func (u *onlineUpgrade) observe(ctx context.Context, former *clients.Target) (online.Pair, error) {
	f := u.change.Factory
	p := online.Pair{Engine: former.Engine, Name: u.into, Version: u.version}
	var err error
	if p.Former, err = f.ObserveOnce(ctx, former, observeBoth, nil); err != nil {
		return p, err
	}
	record, err := former.Store.GetCluster(ctx, former.Namespace, u.into)
	if errors.Is(err, kube.ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	t := *former
	t.Cluster = record
	p.Next, err = f.ObserveOnce(ctx, &t, observeBoth, nil)
	return p, err
}

// done says that nothing is left to do.
func (u *onlineUpgrade) done(p online.Pair, last online.Stage) {
	f, former := u.change.Factory, p.Former.Cluster.Name
	if last == online.Done {
		f.Note("%s: nothing is left to do", former)
	}
	if u.back {
		if p.Next.Cluster != nil && p.Next.Cluster.Managed() {
			f.Note("next: kubectl delete dbc %s", u.into)
			return
		}
		f.Note("next: %s delete %s --purge", command.DisplayName, u.into)
		return
	}
	f.Note("clients of %s are served by %s", former, u.into)
	f.Note("go back: %s upgrade %s --online --back --into %s", command.DisplayName, former, u.into)
	f.Note("stay:    %s upgrade %s --online --finish --into %s", command.DisplayName, former, u.into)
}

// heading says in one line what a stage is for.
func heading(stage online.Stage, former, next string) string {
	switch stage {
	case online.Prepare:
		return "it must write its log so that " + next + " can follow"
	case online.Create:
		return next + " is made, copies the data and follows"
	case online.Adopt:
		return next + " gets a custom resource too"
	case online.CutOver:
		return next + " takes over: nobody can write for a moment"
	case online.Redirect:
		return "its clients are sent to " + next
	case online.Follow:
		return "it follows " + next + ", so that there is a way back"
	case online.CutBack:
		return "it takes over again: nobody can write for a moment"
	case online.Return:
		return "its clients come back from " + next
	case online.Stop:
		return "it stops; its volumes and the services for its clients stay"
	case online.Finish, online.Done:
	}
	return next + " keeps nothing for " + former + " any more"
}

var versioned = regexp.MustCompile(`-v[0-9]+$`)

// secondName is what the second cluster is called if nobody says it.
func secondName(former, version string) string {
	major, _, _ := strings.Cut(version, ".")
	return versioned.ReplaceAllString(former, "") + "-v" + major
}

// settings asks for a change of settings.
func settings(in command.Intent, change *v1alpha1.SettingsChange) command.Intent {
	in.Request.Operation.Change = change
	return in
}
