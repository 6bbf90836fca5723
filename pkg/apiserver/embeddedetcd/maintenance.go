// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/klog/v2"
)

const (
	// maintenancePeriod is how often the size is looked at.
	maintenancePeriod = time.Minute
	// worthwhile is how much a defragmentation must give back: it stops writes for as long as it copies what is in use.
	worthwhile = 64 << 20
	// relief is the share of the quota below which a full store takes writes again.
	relief = 0.9
)

// defaultQuota is etcd's, where none is set.
const defaultQuota = 2 << 30

// Maintain gives space back to the file system, and opens a full store again once there is room. It returns with ctx.
func (s *Server) Maintain(ctx context.Context) {
	ticker := time.NewTicker(maintenancePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.Stopped():
			return
		case <-ticker.C:
			if err := s.maintain(ctx); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Maintenance of the embedded etcd")
			}
		}
	}
}

// maintain looks once.
func (s *Server) maintain(ctx context.Context) error {
	if s.Full() {
		return s.relieve(ctx)
	}
	backend := s.etcd.Server.Backend()
	if size, used := backend.Size(), backend.SizeInUse(); size-used >= worthwhile && used < size/2 {
		klog.FromContext(ctx).Info("Defragmenting the embedded etcd", "size", size, "inUse", used)
		return backend.Defrag()
	}
	return nil
}

// relieve compacts, which the API server cannot while writes are refused, defragments, and, where that made room, takes writes again.
func (s *Server) relieve(ctx context.Context) error {
	server := s.etcd.Server
	if revision := server.KV().Rev(); revision > 1 {
		// What was compacted before is an error that says so, and no reason to stop here.
		if _, err := server.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: revision, Physical: true}); err != nil {
			klog.FromContext(ctx).V(2).Info("Compaction of the full store", "err", err)
		}
	}
	if err := server.Backend().Defrag(); err != nil {
		return fmt.Errorf("defragment: %w", err)
	}
	if size := server.Backend().Size(); float64(size) > relief*float64(s.quota) {
		return fmt.Errorf("the store is full: %d of %d bytes are in use; writes are refused until objects are deleted or the quota is raised", size, s.quota)
	}
	_, err := server.Alarm(ctx, &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_DEACTIVATE, MemberID: uint64(server.MemberID()), Alarm: etcdserverpb.AlarmType_NOSPACE,
	})
	if err == nil {
		klog.FromContext(ctx).Info("The store has room again and takes writes")
	}
	return err
}

// Full is whether the data have reached the quota: writes are refused, reads and deletions go on.
func (s *Server) Full() bool {
	for _, alarm := range s.etcd.Server.Alarms() {
		if alarm.Alarm == etcdserverpb.AlarmType_NOSPACE {
			return true
		}
	}
	return false
}

// Quota is how large the data may grow, in bytes.
func (s *Server) Quota() int64 { return s.quota }

func quotaOf(config *embed.Config) int64 {
	if config.QuotaBackendBytes > 0 {
		return config.QuotaBackendBytes
	}
	return defaultQuota
}
