//go:build e2e

package etcd

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
)

// group is tests that prove much the same. make test runs a few of each group,
// chosen by the seed, and make torture all of them. A test of no group always runs.
type group struct {
	few   int
	tests []string
}

// groups keep the end-to-end part of make test below 12 minutes on 2 cores. None is chosen of a group whose line
// says what proves the same in less time.
func groups() []group {
	killed := group{few: 2}
	for _, d := range deadlies() {
		killed.tests = append(killed.tests, "TestKilled/"+strings.ReplaceAll(d.name, " ", "-"))
	}
	return []group{
		killed,
		// Nothing runs beside these, so a minute of them costs as much as three of others.
		{0, []string{"TestAPIServerRestarts", "TestOperatorOutlivesServer", "TestOutages", "TestMissingObjectsEndNothing",
			"TestRecordDeleted"}},
		{1, []string{"TestGrowUnderLoad", "TestRestoreUnderLoad", "TestDowngradeUnderLoad", "TestSettingsUnderLoad",
			"TestCertificatesRotateUnderLoad", "TestAuthUnderLoad", "TestUpgradeUnderLoad"}},
		{1, []string{"TestRecoverFromData/3.5", "TestRecoverFromData/3.6", "TestRecoverFromData/3.7",
			"TestRecoverFromBackup/all_lost", "TestRecoverFromBackup/the_last_is_damaged", "TestRecoverBringsBack",
			"TestRecoverWithoutNeed"}},
		// Leases: pkg/kube/lease has clocks that differ, and TestKilled holders that died.
		{0, []string{"TestClockSkew/holder's-clock-ahead", "TestClockSkew/holder's-clock-behind", "TestFrozen",
			"TestAnotherMachine", "TestStorm"}},
		{1, []string{"TestInterrupt/once", "TestInterrupt/twice", "TestCancel", "TestCancelRestoreInPlace",
			"TestDowngradeCancelled"}},
		// Settings: pkg/engine/etcd gives them to real servers, and the tests of other engines configure clusters.
		{0, []string{"TestSettingsOfOne", "TestSettingsThatNobodyLivesWith"}},
		// These fill disks.
		{1, []string{"TestQuotaUsedUp", "TestDamageFoundWhileRunning", "TestDamagedBackup",
			"TestVolumeTooFullToDefragment"}},
		// Clients: pkg/engine/etcd talks to servers with and without TLS.
		{0, []string{"TestPlainText", "TestOutsidePlain", "TestOutsideSecured"}},
		{1, []string{"TestDryRun", "TestEditRole", "TestHostileTenant", "TestExportedNamespace", "TestTwoAtOnce",
			"TestTokenLeavesNoTrace"}},
		// Operators: TestOperator and TestTampered have one, and test/simulation has one that dies.
		{0, []string{"TestOperatorKilled", "TestOperatorReplicas", "TestOperatorUpgraded", "TestOperatorTurnsDown"}},
		// Certificates and users: pkg/engine/etcd has real servers with both, and TestKilled each of their operations.
		{0, []string{"TestCertificatesRanOut", "TestCertificatesOfAnOwnAuthority", "TestAuthorityFromAnIssuer",
			"TestAuthByPassword"}},
		{1, []string{"TestTampered/command-line", "TestTampered/operator"}},
	}
}

// selected skips a test that this run leaves to make torture. A test that is
// asked for by name (-run) always runs.
func selected(t *testing.T) {
	t.Helper()
	if torture.Full() || flag.Lookup("test.run").Value.String() != "" || selects(t.Name(), torture.SeedOf(t)) {
		return
	}
	t.Skip("make torture runs it; DBOP_SEED=any makes another selection")
}

// selects reports whether the selection of that seed contains a test.
func selects(name string, seed uint64) bool {
	whole, _, _ := strings.Cut(name, "/")
	for i, g := range groups() {
		at := slices.IndexFunc(g.tests, func(test string) bool { return test == name || test == whole })
		if at < 0 {
			continue
		}
		order := rand.New(rand.NewPCG(seed, uint64(i))).Perm(len(g.tests)) // #nosec G404 G115 -- a reproducible choice
		return slices.Contains(order[:g.few], at)
	}
	return true
}

// TestGroupsNameTests holds the groups against the tests that there are: a name
// of no test would take the place of one.
func TestGroupsNameTests(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, g := range groups() {
		for _, name := range g.tests {
			whole, _, _ := strings.Cut(name, "/")
			if !strings.Contains(all.String(), "func "+whole+"(t *testing.T)") {
				t.Errorf("there is no %s", name)
			}
		}
	}
}
