package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/major"
)

var _ engine.InPlaceConverter = (*Engine)(nil)

// superuser made the data of every member.
const superuser = "dbop"

// Converts implements engine.Converter.
func (*Engine) Converts(from, target string) bool {
	a, okA := parse(from)
	b, okB := parse(target)
	return okA && okB && a.major >= oldest && a.major < b.major
}

// CheckRestore implements engine.Rules: data of an older major version is converted.
func (e *Engine) CheckRestore(from, target string) error {
	if e.Converts(from, target) {
		return nil
	}
	return e.Rules.CheckRestore(from, target)
}

// CheckUpgrade implements engine.Rules. Before data is converted, the members must be as fit as for a release of their
// own major version.
func (e *Engine) CheckUpgrade(v engine.View, spec v1alpha1.DatabaseClusterSpec, target string) error {
	newest := ""
	for _, m := range v.Members {
		if order, ok := e.CompareVersions(m.Version, newest); newest == "" || ok && order > 0 {
			newest = m.Version
		}
	}
	if e.Converts(newest, target) {
		if err := checkRemoved(v, spec, target); err != nil {
			return err
		}
		if err := checkObstacles(v); err != nil {
			return err
		}
		target = newest
	}
	return e.Rules.CheckUpgrade(v, spec, target)
}

// CopyPrograms implements engine.Converter, in an image of the community.
func (*Engine) CopyPrograms(version, directory string) error {
	return major.Programs{Directory: directory, Major: versions{}.Series(version)}.Copy("/")
}

// Convert implements engine.Converter, in an image of the community.
func (*Engine) Convert(ctx context.Context, directory string, with engine.Conversion) error {
	u, err := upgrade(directory, with)
	if err != nil {
		return err
	}
	// What a log brought forward was stopped in order. Other data is recovered from what the backup has of the log.
	if _, err := os.Stat(filepath.Join(directory, "pgdata", "backup_label")); err == nil {
		f := Forward{Directory: directory, Bin: u.Former.Path(), Libraries: u.Libraries, Sockets: with.Scratch,
			RestoreCommand: "false", Target: v1alpha1.RecoveryTarget{Timeline: "current"}}
		if err := f.Run(ctx); err != nil {
			return err
		}
	}
	return u.Run(ctx)
}

// ConvertInPlace implements engine.InPlaceConverter, in an image of the community.
func (*Engine) ConvertInPlace(ctx context.Context, directory, operation string, with engine.Conversion) error {
	u, err := upgrade(directory, with)
	if err != nil {
		return err
	}
	return major.Linked{Upgrade: u, Operation: operation, Recover: func(ctx context.Context) error {
		return Promote(ctx, directory, Forward{Bin: u.Former.Path(), Libraries: u.Libraries, Sockets: u.Scratch})
	}}.Run(ctx)
}

// Promote makes the data of a replica that of a primary which was stopped in order, by the log that is in it, along the
// timeline that the copy followed. f says with which programs.
func Promote(ctx context.Context, directory string, f Forward) error {
	id, err := datadir.ReadIdentity(directory)
	if err != nil {
		return err
	}
	if _, found, err := loaded.Read(directory); err != nil || !found {
		if err := errors.Join(err, loaded.Write(directory, loaded.Record{})); err != nil {
			return err
		}
	}
	f.Directory, f.RestoreCommand = directory, "false"
	f.Target = v1alpha1.RecoveryTarget{Timeline: strconv.FormatUint(max(id.Lineage.Timeline, 1), 10)}
	return f.Run(ctx)
}

// RevertInPlace implements engine.InPlaceConverter.
func (*Engine) RevertInPlace(directory, operation string) (bool, error) {
	return major.Linked{Upgrade: major.Upgrade{Directory: directory}, Operation: operation}.Revert()
}

// upgrade is the conversion of data to the version of this image.
func upgrade(directory string, with engine.Conversion) (major.Upgrade, error) {
	former, err := copied(with.Programs)
	if err != nil {
		return major.Upgrade{}, err
	}
	later, err := installed()
	if err != nil {
		return major.Upgrade{}, err
	}
	if former.Major == later.Major {
		return major.Upgrade{}, fmt.Errorf("convert data of PostgreSQL %s: this image has no other version", former.Major)
	}
	libraries := filepath.Join(with.Scratch, "libraries")
	return major.Upgrade{Directory: directory, Former: former, Later: later, Libraries: libraries, Scratch: with.Scratch,
		User: superuser}, former.Missing("/", libraries)
}

// programs are those of the version of the data, below a directory; "" is the image itself.
func programs(data, below string) (major.Programs, error) {
	raw, err := os.ReadFile(filepath.Join(filepath.Clean(data), "pgdata", "PG_VERSION"))
	if err != nil {
		return major.Programs{}, fmt.Errorf("read the version of the data: %w", err)
	}
	return major.Programs{Directory: "/" + below, Major: strings.TrimSpace(string(raw))}, nil
}

// installed are the programs of this image.
func installed() (major.Programs, error) { return copied("/") }

// copied are the programs below a directory, which has those of one version.
func copied(root string) (major.Programs, error) {
	found, _ := filepath.Glob(filepath.Join(root, "usr/lib/postgresql/*/bin/postgres")) // the pattern is right
	if len(found) != 1 {
		return major.Programs{}, fmt.Errorf("find the programs of PostgreSQL: %d versions are below %s", len(found), root)
	}
	return major.Programs{Directory: root, Major: filepath.Base(filepath.Dir(filepath.Dir(found[0])))}, nil
}
