package diagnostics

import (
	"os"
	"path/filepath"
	"slices"
)

// plugins lists the programs that kubectl takes for this one, in the order of
// the PATH. Several links to one file are one program.
func plugins(path string) []string {
	var found []string
	var seen []os.FileInfo
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			continue
		}
		for _, name := range []string{"kubectl-dbop", "kubectl-dbop.exe"} {
			file := filepath.Join(dir, name)
			info, err := os.Stat(file)
			if err != nil || info.IsDir() || !startable(name, info) {
				continue
			}
			if slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
				continue
			}
			seen, found = append(seen, info), append(found, file)
		}
	}
	return found
}

// startable asks for the bit that says so; Windows has none, and goes by the name.
func startable(name string, info os.FileInfo) bool {
	return filepath.Ext(name) == ".exe" || info.Mode()&0o111 != 0
}
