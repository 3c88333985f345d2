package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Backup is what a manifest in a directory repository says, read as any
// machine without the tool could.
type Backup struct {
	ID       string    `json:"id"`
	File     string    `json:"file"`
	Bytes    int64     `json:"bytes"`
	Started  time.Time `json:"startedAt"`
	Verified *struct {
		Time time.Time `json:"time"`
	} `json:"verified"`
	Facts struct {
		Readings []struct{ Name, Value string } `json:"readings"`
	} `json:"facts"`
	// Path of the data.
	Path string `json:"-"`
	// Manifest is the path of the manifest itself.
	Manifest string `json:"-"`
}

// Count is a reading of the data that is a number; -1 if it is none.
func (b Backup) Count(name string) int64 {
	for _, r := range b.Facts.Readings {
		if n, err := strconv.ParseInt(r.Value, 10, 64); err == nil && r.Name == name {
			return n
		}
	}
	return -1
}

// Backups reads the manifests in a directory, oldest first.
func Backups(dir string) ([]Backup, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read repository %s: %w", dir, err)
	}
	var out []Backup
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		b := Backup{Manifest: filepath.Join(dir, e.Name())}
		raw, err := os.ReadFile(b.Manifest)
		if err != nil {
			return nil, fmt.Errorf("read a manifest: %w", err)
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, fmt.Errorf("read manifest %s: %w", e.Name(), err)
		}
		b.Path = filepath.Join(dir, b.File)
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Backup) int { return a.Started.Compare(b.Started) })
	return out, nil
}

// LastBackup is the newest backup in a directory.
func LastBackup(dir string) (Backup, error) {
	all, err := Backups(dir)
	if err != nil {
		return Backup{}, err
	}
	if len(all) == 0 {
		return Backup{}, fmt.Errorf("repository %s holds no backup", dir)
	}
	return all[len(all)-1], nil
}
