package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/status"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/positions"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// noLeader is the one error in a status that the field Leader tells already.
const noLeader = "etcdserver: no leader"

// HexID writes an ID as etcd and etcdctl do.
func HexID(id uint64) string { return strconv.FormatUint(id, 16) }

// askStatus asks a member for its own state.
func askStatus(ctx context.Context, c *Connection) (*clientv3.StatusResponse, error) {
	s, err := c.maintenance().Status(ctx, c.base)
	if err != nil {
		return nil, err
	}
	if s.Header == nil {
		s.Header = &pb.ResponseHeader{}
	}
	return s, nil
}

// memberFrom translates a status.
func memberFrom(name string, s *clientv3.StatusResponse) engine.Member {
	m := engine.Member{
		Name:       name,
		Reachable:  true,
		ID:         HexID(s.Header.MemberId),
		ClusterID:  HexID(s.Header.ClusterId),
		Role:       roleFrom(s),
		Version:    s.Version,
		Schema:     s.StorageVersion,
		DataBytes:  s.DbSize,
		UsedBytes:  s.DbSizeInUse,
		QuotaBytes: s.DbSizeQuota,
	}
	if s.Leader != 0 {
		m.Leader = HexID(s.Leader)
	}
	m.Position = positions.Position{
		Cluster: m.ClusterID, Term: s.RaftTerm, Applied: s.RaftAppliedIndex, Revision: s.Header.Revision,
	}.Encode()
	m.Alarms, m.Problem = complaints(s.Errors, m.ID)
	return m
}

func roleFrom(s *clientv3.StatusResponse) engine.Role {
	switch {
	case s.IsLearner:
		return engine.RoleLearner
	case s.Leader != 0 && s.Leader == s.Header.MemberId:
		return engine.RoleLeader
	default:
		return engine.RoleFollower
	}
}

// complaints separates the alarms of one member from errors that are none.
func complaints(reported []string, id string) (alarms []string, problem string) {
	all, rest := alarmsFrom(reported)
	for _, a := range all {
		if a.MemberID == id {
			alarms = append(alarms, a.Name)
		}
	}
	return alarms, strings.Join(rest, "; ")
}

// reportedVersions are those of a member's server and of the cluster.
type reportedVersions struct {
	Server  string `json:"etcdserver"`
	Cluster string `json:"etcdcluster"`
}

// cluster is the version that the cluster speaks, "" while it has not decided.
func (v reportedVersions) cluster() string {
	if _, err := versions.Parse(v.Cluster); err != nil {
		return ""
	}
	return v.Cluster
}

// askVersions asks for what only HTTP tells.
func askVersions(ctx context.Context, c *Connection) (reportedVersions, error) {
	var v reportedVersions
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/version", nil)
	if err != nil {
		return v, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return v, err
	}
	// What was read is all that counts.
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return v, fmt.Errorf("GET /version: %s", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&v); err != nil {
		return v, fmt.Errorf("read /version: %w", err)
	}
	return v, nil
}

// plain is an error without gRPC's frames around it.
func plain(err error) string {
	message := status.Convert(err).Message()
	if _, cause, ok := strings.Cut(message, `desc = "transport: `); ok {
		return strings.TrimSuffix(cause, `"`)
	}
	return message
}
