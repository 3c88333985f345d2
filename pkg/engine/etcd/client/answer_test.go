package client

import (
	"bytes"
	"errors"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

func TestFieldsAreCounted(t *testing.T) {
	for fields, want := range map[int]error{0: nil, 7: nil, MostFields: nil, MostFields + 1: errFields} {
		var list pb.MemberListResponse
		err := newCounting().Unmarshal(mem.BufferSlice{mem.SliceBuffer(bytes.Repeat([]byte{0x12, 0}, fields))}, &list)
		if !errors.Is(err, want) || err == nil && len(list.Members) != fields {
			t.Errorf("%d fields: %v, %d members", fields, err, len(list.Members))
		}
	}
	var list pb.MemberListResponse
	nested, err := proto.Marshal(&pb.MemberListResponse{Members: []*pb.Member{{PeerURLs: make([]string, MostFields)}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := newCounting().Unmarshal(mem.BufferSlice{mem.SliceBuffer(nested)}, &list); !errors.Is(err, errFields) {
		t.Errorf("fields of fields: %v", err)
	}
	var _ encoding.CodecV2 = newCounting()
	if err := newCounting().Unmarshal(mem.BufferSlice{mem.SliceBuffer{0xff}}, &pb.MemberListResponse{}); err == nil {
		t.Error("what is no message was decoded")
	}
}
