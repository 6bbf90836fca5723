// The three-node Kubernetes on which the product is shown and tested: kept apart from the product's go.mod.
module github.com/valkeykube/valkeykube/hack/cluster

go 1.26.0

require golang.org/x/sys v0.50.0 // indirect
