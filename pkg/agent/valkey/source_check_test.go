//go:build linux

package valkey

import (
	"strings"
	"testing"
)

func TestUnfitSource(t *testing.T) {
	t.Parallel()
	valkey8 := product{valkey: true, major: 8, release: "8.1.1"}
	valkey9 := product{valkey: true, major: 9, release: "9.1.2"}
	redis7, redis8 := product{major: 7, release: "7.0.15"}, product{major: 8, release: "8.0.2"}
	for name, c := range map[string]struct {
		own    product
		fields string
		why    string
	}{
		"Redis 7.0 to Valkey":            {valkey8, "redis_version:7.0.15", ""},
		"Redis 7.2 to Valkey":            {valkey9, "redis_version:7.2.4", ""},
		"Redis 5 to Redis":               {redis7, "redis_version:5.0.14", ""},
		"Redis 4":                        {redis7, "redis_version:4.0.14", "older than 5"},
		"no version":                     {redis7, "", "older than 5"},
		"Redis 7.4 to Valkey":            {valkey8, "redis_version:7.4.1", "format 12"},
		"Redis 8 to Valkey 9":            {valkey9, "redis_version:8.0.2", "format 12"},
		"Redis 8 to itself":              {redis8, "redis_version:8.0.2", ""},
		"Redis 8.4 to 8.0":               {redis8, "redis_version:8.4.0", "older: 8.0.2"},
		"Redis 7.2 to 7.0":               {redis7, "redis_version:7.2.4", "format 11"},
		"Valkey 8 to 9":                  {valkey9, "redis_version:7.2.4\nvalkey_version:8.1.1", ""},
		"Valkey 9 to 8":                  {valkey8, "redis_version:7.2.4\nvalkey_version:9.0.0", "format 80"},
		"Valkey 8 to Redis 8":            {redis8, "redis_version:7.2.4\nvalkey_version:8.1.1", ""},
		"Valkey 8 to Redis 7.0":          {redis7, "redis_version:7.2.4\nvalkey_version:8.1.1", "format 11"},
		"Valkey 9 to Redis 8":            {redis8, "redis_version:7.2.4\nvalkey_version:9.1.2", "format 80"},
		"a replica":                      {redis7, "redis_version:7.0.1\nrole:slave\nmaster_host:a\nmaster_port:1", "a:1"},
		"a cluster":                      {redis7, "redis_version:7.0.1\nredis_mode:cluster", "its mode is cluster"},
		"Sentinel":                       {redis7, "redis_version:7.0.1\nredis_mode:sentinel", "its mode is sentinel"},
		"a cluster of Valkey":            {valkey8, "valkey_version:8.0.1\nserver_mode:cluster", "its mode is cluster"},
		"more data than the volume has":  {redis7, "redis_version:7.0.1\nused_memory:2147483648", "2048 MiB"},
		"as much data as the volume has": {redis7, "redis_version:7.0.1\nused_memory:1073741824", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields := infoFields(c.fields)
			if fields["role"] == "" {
				fields["role"] = "master"
			}
			got := strings.Join(unfitSource(fields, c.own, 1<<30), "; ")
			if got == "" != (c.why == "") || !strings.Contains(got, c.why) {
				t.Errorf("it is refused because %q, want %q", got, c.why)
			}
		})
	}
}

func TestModules(t *testing.T) {
	t.Parallel()
	const info = "# Modules\r\nmodule:name=vectorset,ver=1,api=1\r\nmodule:name=search,ver=20811,api=1\r\n"
	for _, c := range []struct {
		own  product
		want string
	}{{product{major: 8}, "search"}, {product{major: 7}, "vectorset search"}, {product{valkey: true, major: 8},
		"vectorset search"}} {
		if got := strings.Join(modulesOf(info, c.own), " "); got != c.want {
			t.Errorf("%+v lacks %q, want %q", c.own, got, c.want)
		}
	}
}
