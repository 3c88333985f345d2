package bucket

import (
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
)

// mostRetain is beyond every useful retention: nobody could take a slip of the pen back.
const mostRetain = 10 * 365 * 24 * time.Hour

// checkRetain judges for how long objects are retained, and how.
func (d Description) checkRetain() error {
	length, err := archive.ParseAge(d.Retain)
	switch {
	case err != nil:
		return fmt.Errorf("its retention: %w", err)
	case length > mostRetain:
		return fmt.Errorf("a retention of %s is longer than ten years", d.Retain)
	case d.RetainMode != "" && d.RetainMode != string(s3.RetentionCompliance):
		return fmt.Errorf("retention mode %q; write \"compliance\" or nothing", d.RetainMode)
	case d.RetainMode != "" && d.Retain == "":
		return errors.New("its retention has a mode, and no length")
	}
	return nil
}

// Retains reports whether the store is asked to retain what is written.
func (d Description) Retains() bool { return d.Retain != "" }

// retain is the length of the retention of a description that Check takes; 0 for none.
func (d Description) retain() time.Duration {
	length, _ := archive.ParseAge(d.Retain)
	return length
}
