package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/saot/experiment/mlflow"
)

func newExportCommand() *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "export PATH...",
		Short: "write finished runs into a folder that MLflow reads",
		Long: `Write every result under the paths into a store of MLflow: an experiment for each dataset, a run for
each run, with its settings as parameters, AP and AF by task, losses and marginal errors by step, and result.json and
matrix.png as artifacts. Exporting a run again replaces it. Packed results have no losses by step.

MLflow 3 reads folders only where the environment variable MLFLOW_ALLOW_FILE_STORE is true; its command
migrate-filestore moves them into a database.

TensorBoard needs no export: each run folder holds its event files.`,
		Example: `  saot export runs/table2 --out mlruns
  MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri mlruns`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			count, err := mlflow.Export(cmd.Context(), store, paths...)
			if errors.Is(err, context.Canceled) {
				return interrupted{err, "interrupted: the same command writes the rest"}
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d runs\n", store, count)
			return err
		},
	}
	cmd.Flags().StringVar(&store, "out", "mlruns", "folder of the store")
	return cmd
}
