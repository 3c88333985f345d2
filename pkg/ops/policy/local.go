package policy

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// DirectoryOf returns the repository of a request that is a directory of one
// machine; "" if there is none. Only a process of that machine can carry it out.
func DirectoryOf(o v1alpha1.OperationSpec) string {
	urls := []string{o.Repository}
	if o.Source != nil {
		urls = append(urls, o.Source.Repository)
	}
	for _, url := range urls {
		if at, err := repository.ParseLocation(url); url != "" && err == nil && at.Kind == repository.KindDirectory {
			return url
		}
	}
	return ""
}

// NeededDirectory is the directory that an operation in flight still needs. The
// backup that another operation takes first is not needed once it is there.
func NeededDirectory(op *v1alpha1.Operation) string {
	o := op.Spec
	if o.Verb != v1alpha1.VerbBackup && (op.Status.Facts[v1alpha1.FactBackup] != "" || op.Waives("backup")) {
		o.Repository = ""
	}
	return DirectoryOf(o)
}

// needsMachine refuses to take up an operation that needs a directory of another machine.
func needsMachine(op *v1alpha1.Operation) error {
	url := NeededDirectory(op)
	if url == "" {
		return nil
	}
	return &ops.Error{Kind: ops.NeedsHuman, Check: "directory",
		Message: fmt.Sprintf(
			"operation %s (%s) of %s needs %s, a directory of the machine %s, which an operator does not have",
			op.Name, op.Spec.Verb, op.Spec.Cluster, url, ops.OrUnknown(op.Spec.RequestedFrom)),
		Hint: "continue it on that machine: kubectl dbop resume " + op.Spec.Cluster}
}

// CheckRepositories judges the repositories that a custom resource names, before
// anything is made of them: an operator has no directory that outlives its pod.
func CheckRepositories(want v1alpha1.DatabaseClusterSpec) error {
	named := map[string]string{"backup.repository": want.Backup.Repository}
	if want.RestoreFrom != nil {
		named["restoreFrom.repository"] = want.RestoreFrom.Repository
	}
	for _, field := range []string{"restoreFrom.repository", "backup.repository"} {
		url := named[field]
		if url == "" {
			continue
		}
		hint := "set spec." + field + ` to "pvc:CLAIM", "pvc:CLAIM/PATH" or the name of a repository`
		at, err := repository.ParseLocation(url)
		if err != nil {
			return &engine.Refusal{Check: "repository",
				Reason: fmt.Sprintf("spec.%s can't be used: %v", field, err), Hint: hint}
		}
		if at.Kind == repository.KindDirectory {
			return &engine.Refusal{Check: "repository", Reason: fmt.Sprintf(
				"spec.%s is %s, a directory of one machine, which an operator does not have", field, url), Hint: hint}
		}
	}
	return nil
}
