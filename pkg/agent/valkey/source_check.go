//go:build linux

package valkey

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// unfitError says why a source can't be followed as it is.
type unfitError []string

// Error names all reasons.
func (e unfitError) Error() string { return "the source can't be followed: " + strings.Join(e, "; ") }

// check asks the source whether its data can come here, before the first byte does. Free is the room on the volume.
func (s *source) check(ctx context.Context, own product, free int64) error {
	text, err := s.asked.Do(ctx, "INFO")
	if err != nil {
		return err
	}
	fields := infoFields(text)
	problems := unfitSource(fields, own, free)
	if modules := modulesOf(text, own); len(modules) > 0 {
		problems = append(problems, "it has the modules "+strings.Join(modules, ", ")+", which this server lacks")
	}
	if code, err := s.asked.Do(ctx, "FUNCTION", "LIST", "LIBRARYNAME", library); err == nil && code != "" {
		problems = append(problems, "its functions hold users of another cluster of this tool")
	}
	if len(problems) > 0 {
		return unfitError(problems)
	}
	names, err := s.asked.Do(ctx, "ACL", "USERS")
	if err != nil && !isAnswered(err) {
		return err
	}
	users := slices.DeleteFunc(strings.Fields(names), func(name string) bool { return name == "default" })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users = users
	return nil
}

// unfitSource says what in the words of a source keeps a server from following it.
func unfitSource(fields map[string]string, own product, free int64) (problems []string) {
	if role := fields["role"]; role != "master" {
		problems = append(problems, fmt.Sprintf("its role is %s, and a cut over stops writes at the primary: name %s:%s",
			role, fields["master_host"], fields["master_port"]))
	}
	if mode := fields["redis_mode"] + fields["server_mode"]; mode != "" && !strings.Contains(mode, "standalone") {
		problems = append(problems, "its mode is "+mode+", and only a server alone or with replicas can be followed")
	}
	valkey, release := fields["valkey_version"] != "", fields["redis_version"]
	if valkey {
		release = fields["valkey_version"]
	}
	wrote := fileVersion(valkey, release)
	switch {
	case wrote == 0:
		problems = append(problems, fmt.Sprintf("its version %q is older than 5, or not known", release))
	case !slices.Contains(readsFiles(own), wrote):
		problems = append(problems, fmt.Sprintf("it is %s, and writes data in format %d, which this server does not read",
			named(valkey, release), wrote))
	case valkey == own.valkey && slices.Compare(series(own.release), series(release)) < 0:
		problems = append(problems, fmt.Sprintf("it is %s, and this server is older: %s", named(valkey, release),
			own.release))
	}
	if used, err := strconv.ParseInt(fields["used_memory"], 10, 64); err == nil && used > free {
		problems = append(problems, fmt.Sprintf("it uses %d MiB, and the volume has room for %d MiB", used>>20, free>>20))
	}
	return problems
}

func named(valkey bool, release string) string {
	if valkey {
		return "Valkey " + release
	}
	return "Redis " + release
}

// series are the major and the minor number of a release; what can't be read is 0.
func series(release string) []int {
	numbers := make([]int, 2)
	for i, part := range strings.SplitN(release, ".", len(numbers)+1) {
		if i < len(numbers) {
			numbers[i], _ = strconv.Atoi(part)
		}
	}
	return numbers
}

// fileVersion is the version of the files with all data that a release writes, or the lowest that it may be.
// Valkey began as Redis 7.2, and counts in numbers of its own since 9.0. The source sends what its own version writes.
func fileVersion(valkey bool, release string) int {
	of := series(release)
	since := func(major, minor int) bool { return slices.Compare(of, []int{major, minor}) >= 0 }
	switch {
	case valkey && since(9, 0):
		return 80
	case valkey:
		return 11
	case since(7, 4):
		return 12
	case since(7, 2):
		return 11
	case since(7, 0):
		return 10
	case since(5, 0):
		return 9
	}
	return 0
}

// readsFiles are the versions that a server reads.
func readsFiles(own product) []int {
	last := fileVersion(own.valkey, own.release)
	all := []int{9, 10}
	if last >= 11 {
		all = append(all, 11)
	}
	if last >= 12 {
		all = append(all, last)
	}
	return all
}

// modulesOf lists the modules that hold data of their own. Redis 8 has vector sets as a module that is built in.
func modulesOf(info string, own product) (names []string) {
	for line := range strings.Lines(info) {
		rest, found := strings.CutPrefix(line, "module:name=")
		name, _, _ := strings.Cut(rest, ",")
		builtIn := name == "vectorset" && !own.valkey && own.major >= 8
		if found && !builtIn {
			names = append(names, name)
		}
	}
	return names
}

// free is the room on the volume.
func (c Config) free() int64 {
	var of syscall.Statfs_t
	if err := syscall.Statfs(c.Directory, &of); err != nil {
		return 0
	}
	return int64(of.Bavail) * of.Bsize //nolint:gosec // no volume is that large
}
