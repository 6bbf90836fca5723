// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

// parseRole reads ROLE: ["master", offset, [[host, port, offset]...]], ["slave", host, port, link, offset]
// or ["sentinel", [names...]].
func parseRole(reply any) (RoleReport, error) {
	list, err := asList(reply)
	if err != nil {
		return RoleReport{}, err
	}
	if len(list) == 0 {
		return RoleReport{}, unexpected("a role", reply)
	}
	word, err := asText(list[0])
	if err != nil {
		return RoleReport{}, err
	}
	switch role := roleOf(word); {
	case role == RolePrimary && len(list) >= 3:
		return parsePrimaryRole(list)
	case role == RoleReplica && len(list) >= 5:
		return parseReplicaRole(list)
	case role == RoleSentinel:
		return RoleReport{Role: RoleSentinel}, nil
	}
	return RoleReport{}, unexpected("a role", reply)
}

func parsePrimaryRole(list []any) (RoleReport, error) {
	report := RoleReport{Role: RolePrimary}
	var err error
	if report.Offset, err = asInt(list[1]); err != nil {
		return RoleReport{}, err
	}
	replicas, err := asList(list[2])
	if err != nil {
		return RoleReport{}, err
	}
	for _, item := range replicas {
		entry, err := asList(item)
		if err != nil || len(entry) < 3 {
			return RoleReport{}, unexpected("a replica", item)
		}
		address, err := addressOf(entry[0], entry[1])
		if err != nil {
			return RoleReport{}, err
		}
		offset, err := asInt(entry[2])
		if err != nil {
			return RoleReport{}, err
		}
		report.Replicas = append(report.Replicas, ReplicaOffset{Address: address, Offset: offset})
	}
	return report, nil
}

func parseReplicaRole(list []any) (RoleReport, error) {
	report := RoleReport{Role: RoleReplica}
	var err error
	if report.Primary, err = addressOf(list[1], list[2]); err != nil {
		return RoleReport{}, err
	}
	if report.Link, err = asText(list[3]); err != nil {
		return RoleReport{}, err
	}
	report.Offset, err = asInt(list[4])
	return report, err
}

func addressOf(host, port any) (Address, error) {
	hostText, err := asText(host)
	if err != nil {
		return Address{}, err
	}
	number, err := asInt(port)
	return Address{Host: hostText, Port: int(number)}, err
}
