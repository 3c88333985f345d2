package helper

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// Fill says how full a volume is.
type Fill struct {
	// Free is what a member may still write, Total what the file system has.
	Free  int64 `json:"free"`
	Total int64 `json:"total"`
	// Remains is the number of files that fit the pattern, LeftoverBytes their size.
	Leftovers     int   `json:"leftovers,omitempty"`
	LeftoverBytes int64 `json:"leftoverBytes,omitempty"`
}

// MeasureOptions are what the command "helper measure" is told.
type MeasureOptions struct {
	// Dir is on the volume. It is only read.
	Dir string
	// Remains is the pattern, below Dir, of the files to count.
	Leftovers string
	// Report is where the result goes, the pod's termination log.
	Report string
}

// Run measures and reports.
func (o MeasureOptions) Run() error {
	f, err := o.measure()
	if err != nil {
		return fmt.Errorf("measure the volume of %s: %w", o.Dir, err)
	}
	report, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("measure the volume of %s: %w", o.Dir, err)
	}
	return os.WriteFile(o.Report, report, 0o600)
}

func (o MeasureOptions) measure() (Fill, error) {
	var f Fill
	var err error
	if f.Free, f.Total, err = disk.Usage(o.Dir); err != nil {
		return f, err
	}
	names, err := filepath.Glob(filepath.Join(o.Dir, o.Leftovers))
	if err != nil {
		return f, err
	}
	for _, name := range names {
		// The member may delete one at this moment.
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			f.Leftovers++
			f.LeftoverBytes += info.Size()
		}
	}
	return f, nil
}

// ReadFill is the other side of MeasureOptions.Run.
func ReadFill(message string) (Fill, error) {
	var f Fill
	if err := json.Unmarshal([]byte(message), &f); err != nil {
		return f, fmt.Errorf("read the report %.80q: %w", message, err)
	}
	return f, nil
}
