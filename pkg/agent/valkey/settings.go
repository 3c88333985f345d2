//go:build linux

package valkey

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// Release is the version of the server's program, such as "8.1.1".
func (s *Server) Release() string { return s.product.release }

// Pending implements api.Tuner. A replica needs nothing that its primary has.
func (s *Server) Pending() (start, held []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pending), nil
}

// CheckValues refuses settings that belong to the agent, and those that the server's program does not take.
func (s *Server) CheckValues(ctx context.Context, values map[string]string) error {
	kept := s.keptSettings()
	var all []setting
	for _, name := range slices.Sorted(maps.Keys(values)) {
		lower := strings.ToLower(name)
		if name == logTimeout {
			if _, err := parseLogTimeout(values[name]); err != nil {
				return api.Refused{Why: err.Error()}
			}
			continue
		}
		if !regexp.MustCompile(`^[a-z][a-z0-9.-]*$`).MatchString(lower) {
			return api.Refused{Why: fmt.Sprintf("%q is no name of a setting", name)}
		}
		if slices.Contains(kept, lower) && lower != appendFsyncSetting {
			return api.Refused{Why: fmt.Sprintf("the setting %s belongs to the agent", name)}
		}
		all = append(all, setting{lower, values[name]})
	}
	return s.try(ctx, all)
}
