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
// code: the terms and one training step are in step.go, what the host prepares for it, π_G among it, in prepare.go,
// π_G's relations in relation.go, when a plan stops a run in plan.go, a task in learner.go, looks at the plans in
// watch.go, the registered variants in definition.go. The loop over steps is package train's. It imports train,
// encoder, transport, transport/symbolic, view, replay, method, continual, engine and datasets.
package saot
