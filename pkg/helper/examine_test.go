package helper

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestExamineReports(t *testing.T) {
	to := filepath.Join(t.TempDir(), "termination-log")
	for name, c := range map[string]struct {
		script string
		want   engine.DataDirInfo
		fails  bool
	}{
		"well": {
			`echo '{"intact":true,"clusterID":"c","position":"c/1/2/3","readings":[{"name":"revision","value":"3"}]}'`,
			engine.DataDirInfo{Intact: true, ClusterID: "c", Position: "c/1/2/3",
				Readings: []engine.Reading{{Name: "revision",
					Value: "3"}}}, false},
		"damaged": {`echo '{"intact":false,"problem":"page 7"}'`, engine.DataDirInfo{Problem: "page 7"}, false},
		"it takes the reader": {`echo "panic: page 7" >&2; exit 2`,
			engine.DataDirInfo{Problem: "it brings down who reads it: " +
				"panic: page 7"}, false},
		"killed":      {`kill -9 $$`, engine.DataDirInfo{}, true},
		"wrong usage": {`echo "error: unknown flag" >&2; exit 2`, engine.DataDirInfo{}, true},
		"no words":    {`true`, engine.DataDirInfo{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(to); err != nil {
				t.Fatal(err)
			}
			err := ExamineOptions{Dir: "/data", Report: to, Command: []string{"sh", "-c", c.script}}.Run(t.Context())
			if c.fails {
				if _, gone := os.Stat(to); err == nil || gone == nil {
					t.Errorf("it reports in spite of %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			message, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := ReadReport(string(message)); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, %v; want %+v", got, err, c.want)
			}
		})
	}
	long := ExamineOptions{Report: to, Command: []string{"sh", "-c", `printf '{"problem":"%010000d"}' 1`}}
	if err := long.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if message, err := os.ReadFile(to); err != nil || len(message) > 4096 {
		t.Errorf("%d bytes, %v: a kubelet cuts that off", len(message), err)
	}
}
