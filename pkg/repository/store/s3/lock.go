package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	headerRetain = "X-Amz-Object-Lock-Retain-Until-Date"
	headerHold   = "X-Amz-Object-Lock-Legal-Hold"
	// ruleFor is how long an answer about the bucket's rule counts.
	ruleFor = 10 * time.Minute
)

// rule is how a bucket retains each new object for which nobody asked for another time.
type rule struct {
	// enabled: the bucket has object lock. Without a mode it retains what is asked for alone.
	enabled     bool
	mode        string
	days, years int
}

// String is for people; "" for no rule.
func (r rule) String() string {
	switch {
	case r.mode == "":
		return ""
	case r.years > 0:
		return fmt.Sprintf("%s for %d years", r.mode, r.years)
	}
	return fmt.Sprintf("%s for %d days", r.mode, r.days)
}

// lock remembers the rule of a bucket.
type lock struct {
	mu    sync.Mutex
	rule  rule
	until time.Time
}

// rule asks for the bucket's rule, or remembers it. What the credentials may not ask, or the store does not know, is
// none; a store that is out of reach is an error.
func (s *Store) rule(ctx context.Context) (rule, error) {
	s.lock.mu.Lock()
	defer s.lock.mu.Unlock()
	if time.Now().Before(s.lock.until) {
		return s.lock.rule, nil
	}
	enabled, mode, length, unit, err := s.client.GetObjectLockConfig(ctx, s.bucket)
	if unreachable(err) || ctx.Err() != nil {
		return rule{}, s.explain(ctx, err, "ask how the bucket retains objects")
	}
	r := rule{enabled: err == nil && enabled == "Enabled"}
	if r.enabled && mode != nil && length != nil && unit != nil {
		r.mode = strings.ToLower(mode.String())
		if *unit == minio.Years {
			r.years = int(*length)
		} else {
			r.days = int(*length)
		}
	}
	s.lock.rule, s.lock.until = r, time.Now().Add(ruleFor)
	return r, nil
}

// unreachable reports whether nobody answered, or one who could not just then.
func unreachable(err error) bool {
	_, network := errors.AsType[*url.Error](err)
	status := minio.ToErrorResponse(err).StatusCode
	return network || status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

// kept is what keeps an object from being deleted now.
type kept struct {
	// until is zero where a person holds it, or where nothing keeps it.
	until time.Time
	held  bool
}

// String is for people; "" if nothing keeps it.
func (k kept) String() string {
	switch {
	case k.held:
		return "by a legal hold"
	case k.until.IsZero():
		return ""
	}
	return "until " + k.until.Format(time.RFC3339)
}

// kept reads what object lock says of an object. Where it says nothing the bucket's rule counts: credentials may lack
// the right to see it, and some stores apply the rule without writing it to the object.
func (s *Store) kept(ctx context.Context, info minio.ObjectInfo) (kept, error) {
	if info.Metadata.Get(headerHold) == string(minio.LegalHoldEnabled) {
		return kept{held: true}, nil
	}
	until, err := time.Parse(time.RFC3339, info.Metadata.Get(headerRetain))
	if err != nil {
		r, err := s.rule(ctx)
		if err != nil {
			return kept{}, err
		}
		if r.years == 0 && r.days == 0 {
			return kept{}, nil
		}
		until = info.LastModified.AddDate(r.years, 0, r.days)
	}
	if until.After(s.clock.now()) {
		return kept{until: until.UTC()}, nil
	}
	return kept{}, nil
}
