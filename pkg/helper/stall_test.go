package helper

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestPatientWantsDeadlines(t *testing.T) {
	r := httptest.NewRequest(http.MethodPut, "/", strings.NewReader("data"))
	p := newPatient(httptest.NewRecorder(), r, time.Minute)
	if _, err := p.Read(make([]byte, 4)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without deadlines: %v", err)
	}
}
