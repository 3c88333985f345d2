//go:build e2e

package etcd

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDefinitionsRefuse: the API server refuses a custom resource with a value
// that nothing can be made of, names the field, and accepts what is usual.
func TestDefinitionsRefuse(t *testing.T) {
	s := newScene(t, "opschema")
	s.definitions()
	type fields = map[string]any
	dry := func(kind string, spec fields) string {
		t.Helper()
		text, err := json.Marshal(fields{"apiVersion": "dbop.dev/v1alpha1", "kind": kind,
			"metadata": fields{"name": "my-db", "namespace": s.ns}, "spec": spec})
		s.ok(err)
		path := filepath.Join(t.TempDir(), "object.json")
		s.ok(os.WriteFile(path, text, 0o600))
		r, err := s.site.Kubectl(s.home).Run(s.ctx, "create", "--dry-run=server", "-f", path)
		s.ok(err)
		if r.Code == 0 {
			return ""
		}
		return r.Stderr
	}
	refused := func(field, said string) {
		t.Helper()
		if !strings.Contains(said, field+": Invalid value") {
			t.Errorf("a bad %s is answered with %q", field, said)
		}
	}
	cluster := func(more fields) fields {
		spec := fields{"engine": "etcd", "version": "3.6.16"}
		maps.Copy(spec, more)
		return spec
	}
	digest := "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, spec := range map[string]fields{
		"the least": nil,
		"empty": {"image": "", "registry": "", "tls": fields{"caSecret": ""}, "storage": fields{"className": ""},
			"backup": fields{"repository": ""}},
		"images": {"image": "mirror.example:5000/etcd/etcd:v3.6.16" + digest, "helperImage": "dbop" + digest,
			"registry": "mirror.example:5000/quay"},
		"PostgreSQL": {"engine": "postgres", "version": "17.12"},
		"Valkey":     {"engine": "valkey", "version": "8.1.1"},
		"Redis":      {"engine": "redis", "version": "8.0.2"},
		"backups": {"backup": fields{"repository": "pvc:back.ups/Some path/ä", "schedule": "*/5 0-3,7 * JAN mon",
			"timeZone": "Etc/GMT+5", "keep": 1}},
		"every day": {"backup": fields{"repository": "pvc:b", "schedule": "@daily", "timeZone": "America/Port-au-Prince"}},
		"restored": {"restoreFrom": fields{"repository": "pvc:b", "backup": "my-db-20261121T101500Z-0a1b",
			"rootSecret": "my-db-root"}},
		"users": {"auth": fields{"enabled": true, "users": []fields{{"name": "billing", "prefix": "/billing/"}}}},
		"an issuer": {"tls": fields{"issuer": fields{"name": "corporate.ca", "kind": "AWSPCAIssuer",
			"group": "awspca.cert-manager.io"}}},
		"an authority": {"tls": fields{"caSecret": "corporate.ca"},
			"storage": fields{"className": "fast.ssd", "size": "2Gi"}},
	} {
		if said := dry("DatabaseCluster", cluster(spec)); said != "" {
			t.Errorf("%s is refused:\n%s", name, said)
		}
	}
	backup := func(repository string) fields { return fields{"backup": fields{"repository": repository}} }
	from := func(field, value string) fields {
		source := fields{"repository": "pvc:b", "backup": "my-db-20261121T101500Z-0a1b"}
		source[field] = value
		return fields{"restoreFrom": source}
	}
	for _, c := range []struct {
		field string
		spec  fields
	}{
		{"spec.image", fields{"image": "etcd:3.6 --privileged"}},
		{"spec.image", fields{"image": "\x1b[2Jetcd"}},
		{"spec.helperImage", fields{"helperImage": "https://example.com/dbop"}},
		{"spec.registry", fields{"registry": "mirror.example/"}},
		{"spec.version", fields{"version": "3.6"}},
		{"spec.version", fields{"version": "3"}},
		{"spec.version", fields{"engine": "postgres", "version": "17"}},
		{"spec.version", fields{"engine": "postgres", "version": "17.5.1"}},
		{"spec.storage.className", fields{"storage": fields{"className": "Fast SSD"}}},
		{"spec.tls.caSecret", fields{"tls": fields{"caSecret": "../ca"}}},
		{"spec.tls.issuer.name", fields{"tls": fields{"issuer": fields{"name": "a/b"}}}},
		{"spec.tls.issuer.kind", fields{"tls": fields{"issuer": fields{"name": "a", "kind": "no kind"}}}},
		{"spec.tls.issuer.group", fields{"tls": fields{"issuer": fields{"name": "a", "group": "a/b"}}}},
		{"spec.auth.users[0].name", fields{"auth": fields{"users": []fields{{"name": "a.b"}}}}},
		{"spec.backup.repository", backup("dir:/backups")},
		{"spec.backup.repository", backup("s3://bucket")},
		{"spec.backup.repository", backup("/backups")},
		{"spec.backup.repository", backup("pvc:b/\x1b[2J")},
		{"spec.backup.schedule", fields{"backup": fields{"repository": "pvc:b", "schedule": "0 2 * * *\n"}}},
		{"spec.backup.timeZone", fields{"backup": fields{"repository": "pvc:b", "schedule": "@daily",
			"timeZone": "../../etc"}}},
		{"spec.restoreFrom.repository", from("repository", "dir:/backups")},
		{"spec.restoreFrom.repository", from("repository", "s3://bucket")},
		{"spec.restoreFrom.repository", from("repository", "")},
		{"spec.restoreFrom.backup", from("backup", "../another")},
		{"spec.restoreFrom.rootSecret", from("rootSecret", "a b")},
	} {
		refused(c.field, dry("DatabaseCluster", cluster(c.spec)))
	}
	for _, spec := range []fields{{"cluster": "my-db"}, {"cluster": "my-db", "repository": "pvc:b/c"}} {
		if said := dry("DatabaseBackup", spec); said != "" {
			t.Errorf("%v is refused:\n%s", spec, said)
		}
	}
	refused("spec.cluster", dry("DatabaseBackup", fields{"cluster": "My DB"}))
	refused("spec.repository", dry("DatabaseBackup", fields{"cluster": "my-db", "repository": "dir:/b"}))
}
