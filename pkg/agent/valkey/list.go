//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/session"
)

// ListSettings implements api.SettingLister. The server tells names and values alone: the defaults, and what may be,
// come from one of the same program without data, that is asked to take what no setting takes.
func (s *Server) ListSettings(ctx context.Context) ([]api.Setting, error) {
	text, err := s.ask(ctx, "CONFIG", "GET", "*")
	if err != nil {
		return nil, err
	}
	values, err := pairs(text)
	if err != nil {
		return nil, err
	}
	kept := s.keptSettings()
	byName := map[string]*api.Setting{}
	for name, value := range values {
		byName[name] = &api.Setting{Name: name, Value: value}
		if slices.Contains(kept, name) && name != appendFsyncSetting || secret(name) {
			byName[name].Kept, byName[name].Value = true, ""
		}
	}
	if err := s.trial(ctx, nil, func(ctx context.Context, c *session.Session) error {
		text, err := c.Do(ctx, "CONFIG", "GET", "*")
		if err != nil {
			return err
		}
		defaults, err := pairs(text)
		if err != nil {
			return err
		}
		for name, one := range byName {
			if !one.Kept {
				one.Default = defaults[name]
				one.Given = one.Value != one.Default
				if err := limits(ctx, c, one); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("ask for the defaults: %w", err)
	}
	all := make([]api.Setting, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, *byName[name])
	}
	return all, nil
}

// secret says of a setting that its value is told to nobody.
func secret(name string) bool {
	return strings.HasSuffix(name, "-pass") || strings.HasSuffix(name, "auth")
}

// pairs reads names and values, one a line.
func pairs(text string) (map[string]string, error) {
	lines := strings.Split(text, "\n")
	if len(lines)%2 != 0 {
		return nil, errors.New("read the settings of the server: a name has no value")
	}
	all := map[string]string{}
	for pair := range slices.Chunk(lines, 2) {
		all[pair[0]] = pair[1]
	}
	return all, nil
}

// limits learns what a setting may be from how a server refuses what it may not be.
func limits(ctx context.Context, c *session.Session, one *api.Setting) error {
	for _, value := range []string{"?", "-9223372036854775807"} {
		_, err := c.Do(ctx, "CONFIG", "SET", one.Name, value)
		if err == nil {
			return nil // it takes any text
		}
		said, answered := errors.AsType[session.AnswerError](err)
		if !answered {
			return err
		}
		_, why, _ := strings.Cut(string(said), " - ")
		if !learn(one, why) {
			return nil
		}
	}
	return nil
}

// learn takes what a server said of a value that it refuses, and says whether another value would tell more.
func learn(one *api.Setting, why string) bool {
	_, choices, listed := strings.Cut(why, "must be one of the following: ")
	between, ranges := strings.CutPrefix(why, "argument must be between ")
	switch {
	case strings.Contains(why, "immutable"):
		one.AtStart = true
	case strings.Contains(why, "'yes' or 'no'"):
		one.Kind, one.Allowed = "bool", "yes or no"
	case listed:
		one.Kind, one.Allowed = "enum", choices
	case strings.Contains(why, "into an integer"):
		one.Kind = "integer"
		return true
	case strings.Contains(why, "memory"):
		one.Kind = "memory"
		return true
	case ranges:
		one.Allowed = strings.Replace(strings.TrimSuffix(between, " inclusive"), " and ", " to ", 1)
	}
	return false
}
