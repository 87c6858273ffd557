// Package saot is the method of "SAOT: Self-Supervised Continual Graph Learning with Structure-Aware Optimal
// Transport".
//
// A graph encoder learns a stream of tasks without labels. Each step takes two augmented views of the current task's
// graph joined with replayed subgraphs of earlier ones, picks M nodes, and compares three transport plans between the
// views: π_G* in graph space (Eq. 7, fused Gromov-Wasserstein, no gradient), π_Z* between the embeddings (Eq. 8), and
// that of a frozen teacher, the encoder as the previous task left it:
//
//	L_total = Θ(π_G*, π_Z*) + α·Θ(σK + (1−σ)·L⊗π_G*, R) + β·Θ(π_Z^{t−1}, π_Z^t)        (Eq. 13)
//
// Config (config.go) holds every setting, Learner trains, and package continual runs the stream and scores it. In the
// code, step.go has the loss terms and one training step. prepare.go has what the host prepares for a step, such as
// π_G, and relation.go has π_G's relations. plan.go says when a plan stops a run, learner.go trains a task, watch.go
// looks at the plans, and definition.go registers the variants. The loop over steps is in package train. This package
// imports train, encoder, transport, transport/symbolic, view, replay, method, continual, engine and datasets.
package saot
