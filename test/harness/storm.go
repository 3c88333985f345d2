package harness

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is one way in which an API server, or the way to it, fails.
type Fault string

// The faults.
const (
	// FaultConflict refuses a write with 409, as when a quota was changed meanwhile.
	FaultConflict Fault = "conflict"
	// FaultThrottled answers 429 with Retry-After.
	FaultThrottled Fault = "throttled"
	// FaultBroken answers 500, and nothing was done.
	FaultBroken Fault = "broken"
	// FaultReset takes the connection away before anything was done.
	FaultReset Fault = "reset"
	// FaultLost does what a write asks for, and takes the connection away.
	FaultLost Fault = "lost"
	// FaultDoubtful does what a write asks for, and answers 504.
	FaultDoubtful Fault = "doubtful"
	// FaultSilent answers nothing at all for longer than anybody waits.
	FaultSilent Fault = "silent"
	// FaultSlow answers late.
	FaultSlow Fault = "slow"
	// FaultCut takes a watch's or a port-forward's connection away in the middle.
	FaultCut Fault = "cut"
)

// AllFaults are all of them.
func AllFaults() []Fault {
	return []Fault{FaultConflict, FaultThrottled, FaultBroken, FaultReset, FaultLost, FaultDoubtful, FaultSilent,
		FaultSlow, FaultCut}
}

const (
	// silence is how long a silent fault lasts.
	silence = 40 * time.Second
	// slowest is the most that a slow answer is late.
	slowest = 2 * time.Second
	// cutWithin is when a connection that lasts is cut at the latest.
	cutWithin = 5 * time.Second
	// silentShare of the times that the lot falls upon silence it stays so: each costs much time.
	silentShare = 0.1
)

// storm is what fails and how often. Its draws happen in the order of the
// requests, so a seed repeats a storm as far as the requests repeat themselves.
type storm struct {
	choose *rand.Rand
	share  float64
	faults []Fault
	over   chan struct{}
}

func newStorm(seed uint64, share float64, faults []Fault) *storm {
	if len(faults) == 0 {
		faults = AllFaults()
	}
	return &storm{choose: rand.New(rand.NewPCG(seed, 0)), share: share, faults: faults,
		over: make(chan struct{})} // #nosec G404 -- a reproducible choice
}

// draw is the fault of one request, "" for none.
func (s *storm) draw(r *http.Request) Fault {
	if s.choose.Float64() >= s.share {
		return ""
	}
	fits := slices.DeleteFunc(slices.Clone(s.faults), func(f Fault) bool { return !f.fits(r) })
	if len(fits) == 0 {
		return ""
	}
	f := fits[s.choose.IntN(len(fits))]
	if f == FaultSilent && len(s.faults) > 1 && s.choose.Float64() >= silentShare {
		return FaultSlow
	}
	return f
}

// fits reports whether a fault can befall a request.
func (f Fault) fits(r *http.Request) bool {
	lasts := r.URL.Query().Get("watch") == "true" || strings.HasSuffix(r.URL.Path, "/portforward")
	writes := r.Method != http.MethodGet && !lasts
	switch f {
	case FaultConflict, FaultLost, FaultDoubtful:
		return writes
	case FaultCut:
		return lasts
	default:
		return true
	}
}

// pause waits, unless the client gives up or the storm is over before.
func (s *storm) pause(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	case <-s.over:
	}
}

// inflict does to a request what was drawn.
func (s *storm) inflict(f Fault, pass http.Handler, w http.ResponseWriter, r *http.Request) {
	switch f {
	case FaultConflict:
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict, "Operation cannot be fulfilled on resourcequotas "+
			"\"q\": the object has been modified; please apply your changes to the latest version and try again")
	case FaultThrottled:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
			"too many requests, please try again later")
	case FaultBroken:
		refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "Internal error occurred: etcdserver: "+
			"leader changed")
	case FaultReset:
		reset(w)
	case FaultLost:
		pass.ServeHTTP(unheard{}, r)
		reset(w)
	case FaultDoubtful:
		pass.ServeHTTP(unheard{}, r)
		refuse(w, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "Timeout: request did not complete within the "+
			"allotted timeout")
	case FaultSilent:
		s.pause(r, silence)
		reset(w)
	case FaultSlow:
		s.pause(r, rand.N(slowest)) // #nosec G404 -- how late does not matter
		pass.ServeHTTP(w, r)
	case FaultCut:
		timer := time.AfterFunc(rand.N(cutWithin), func() { cut(r) }) // #nosec G404 -- nor when
		defer timer.Stop()
		pass.ServeHTTP(w, r)
	}
}

// refuse answers as an API server does.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message}) // #nosec G115 -- three digits
}

// unheard is an answer that nobody hears.
type unheard struct{}

func (unheard) Header() http.Header         { return http.Header{} }
func (unheard) Write(b []byte) (int, error) { return len(b), nil }
func (unheard) WriteHeader(int)             {}
