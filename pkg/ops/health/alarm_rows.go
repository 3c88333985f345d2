package health

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// AlarmSheet is what alarms of a cluster stand, and how near its members are
// to the limit of their space.
type AlarmSheet struct {
	Level   Level      `json:"level"`
	Alarms  []AlarmRow `json:"alarms"`
	Members []SpaceRow `json:"members"`
}

// AlarmRow is one alarm in words.
type AlarmRow struct {
	engine.Alarm `json:",inline"`
	Whose        string `json:"whose"`
	Meaning      string `json:"meaning,omitempty"`
}

// SpaceRow is what one member has, as it says itself.
type SpaceRow struct {
	Member     string   `json:"member"`
	Reachable  bool     `json:"reachable"`
	Alarms     []string `json:"alarms,omitempty"`
	DataBytes  int64    `json:"dataBytes,omitempty"`
	UsedBytes  int64    `json:"usedBytes,omitempty"`
	QuotaBytes int64    `json:"quotaBytes,omitempty"`
}

// Alarms judges the alarms of a state: down if nobody could be asked.
func Alarms(e engine.Engine, s ops.State) (AlarmSheet, error) {
	if err := CheckAlarms(e); err != nil {
		return AlarmSheet{}, err
	}
	sheet := AlarmSheet{Level: Down, Alarms: []AlarmRow{}, Members: []SpaceRow{}}
	for _, m := range s.View.Members {
		if m.Reachable && sheet.Level == Down {
			sheet.Level = Healthy
		}
		sheet.Members = append(sheet.Members, SpaceRow{Member: m.Name, Reachable: m.Reachable, Alarms: m.Alarms,
			DataBytes: m.DataBytes, UsedBytes: m.UsedBytes, QuotaBytes: m.QuotaBytes})
	}
	for _, a := range s.View.Alarms {
		row := AlarmRow{Alarm: a, Whose: Whose(a)}
		if adviser, ok := e.(engine.Adviser); ok {
			if advice, known := adviser.Advise(s.Cluster, a.Member, a.Name); known {
				row.Meaning = advice.Meaning
			}
		}
		sheet.Alarms, sheet.Level = append(sheet.Alarms, row), Degraded
	}
	return sheet, nil
}

// Whose names the member that an alarm is raised for, as far as it has a name.
func Whose(a engine.Alarm) string {
	switch {
	case a.Member != "":
		return a.Member
	case a.MemberID == "":
		return "no member in particular"
	default:
		return a.MemberID + " (no member any more)"
	}
}

// CheckAlarms refuses to clear what an engine does not raise.
func CheckAlarms(e engine.Engine) error {
	if _, ok := e.(engine.Adviser); !ok {
		return &engine.Refusal{Check: "alarms", Reason: e.Name() + " raises no alarms that this tool could list or clear",
			Hint: "kubectl dbop diagnose examines a cluster of any engine"}
	}
	return nil
}
