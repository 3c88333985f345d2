package protocol

import (
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	at := func(timeline, offset uint64) *Position { return &Position{Timeline: timeline, Offset: offset} }
	two := []Standby{{"m2", "v2"}, {"m3", "v3"}}
	for _, c := range []struct {
		name           string
		m1, m2, m3     *Position
		set            SyncSet
		change         func(*Document)
		want, whyParts string
	}{
		{"nobody reported", nil, nil, nil, SyncSet{}, nil, "", "no member reported"},
		{"the higher offset", nil, at(1, 960), at(1, 970), SyncSet{}, nil, "m3", ""},
		{"the timeline comes first", nil, at(2, 950), at(1, 990), SyncSet{}, nil, "m2", ""},
		{"the last primary among equals", at(1, 990), at(1, 990), at(1, 990), SyncSet{}, nil, "m1", ""},
		{"the planned target among equals", at(1, 990), at(1, 990), at(1, 990), SyncSet{},
			func(d *Document) { d.Intent = &Intent{Target: "m3"} }, "m3", ""},
		{"no planned target that lacks something", at(1, 990), at(1, 990), at(1, 989), SyncSet{},
			func(d *Document) { d.Intent = &Intent{Target: "m3"} }, "m1", ""},
		{"who leaves comes last among equals", nil, at(1, 990), at(1, 990), SyncSet{},
			func(d *Document) { d.Members["m2"] = Member{Leaving: true, Volume: "v2"} }, "m3", ""},
		{"more than maxLag behind", nil, at(1, 899), nil, SyncSet{}, nil, "", "lacks 101 bytes"},
		{"just maxLag behind", nil, at(1, 900), nil, SyncSet{}, nil, "m2", ""},
		{"one of two that may have acknowledged", nil, at(1, 990), nil, SyncSet{Standbys: two, Need: 1}, nil, "",
			"may be on m3 alone"},
		{"both of them", nil, at(1, 980), at(1, 990), SyncSet{Standbys: two, Need: 1}, nil, "m3", ""},
		{"one of two that both acknowledged", nil, at(1, 990), nil, SyncSet{Standbys: two, Need: 2}, nil, "m2", ""},
		{"the old primary holds all that it acknowledged", at(1, 990), nil, nil, SyncSet{Standbys: two, Need: 1}, nil, "m1",
			""},
		{"no lag counts where all was acknowledged", nil, at(1, 10), nil, SyncSet{Standbys: two, Need: 2}, nil, "m2", ""},
		{"a copy made anew holds nothing of the set", nil, at(1, 990), nil,
			SyncSet{Standbys: []Standby{{"m2", "old"}}, Need: 1}, nil, "", "may be on m2 alone"},
		{"a hold", nil, at(1, 990), nil, SyncSet{}, func(d *Document) { d.Holds = map[string]Hold{"h": {}} }, "", "a hold"},
		{"a hold lets the last primary come back", at(1, 990), at(1, 980), nil, SyncSet{},
			func(d *Document) { d.Holds = map[string]Hold{"h": {}} }, "m1", ""},
		{"a former set counts until the next is settled", nil, at(1, 990), nil, SyncSet{Standbys: two, Need: 1},
			func(d *Document) {
				d.InForce = append(d.InForce, SyncSet{Version: 8, Primary: Standby{"m1", "v1"}, Standbys: two[:1], Need: 1})
			}, "", "may be on m3 alone"},
	} {
		d := serving(t, Async)
		c.set.Version, c.set.Primary = 7, Standby{"m1", "v1"}
		d.InForce = []SyncSet{c.set}
		agree(t, d, &Seal{Generation: 2, LeaseNumber: d.LeaseNumber})
		for id, p := range map[MemberID]*Position{"m1": c.m1, "m2": c.m2, "m3": c.m3} {
			if p != nil {
				agree(t, d, &Reported{Member: id, Generation: 2, Report: Report{Volume: d.Members[id].Volume, Position: *p}})
			}
		}
		if c.change != nil {
			c.change(d)
		}
		got, why := Choose(d)
		if got != MemberID(c.want) || !strings.Contains(why, c.whyParts) {
			t.Errorf("%s: %q, %s; want %q, %s", c.name, got, why, c.want, c.whyParts)
		}
	}
}
