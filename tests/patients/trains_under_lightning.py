"""Rank 2 of Lightning's own launcher sleeps in its training step; local rank 0 is the parent of the others."""

import time

from _common import Crew, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("lightning",)
NEEDS = ("torch", "lightning")


def fetch():
    time.sleep(10_007)


def prepare(step, crew):
    if step == 5 and crew.sick:
        crew.await_others()
        crew.ready()
        fetch()
    if step == 5:
        crew.arrive()


def launch(main, truth, world):
    import lightning
    import torch

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(7, 3)

        def training_step(self, batch, step):
            main(step, Crew(self.global_rank, world, truth))
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    torch.set_num_threads(1)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(accelerator="cpu", devices=world, strategy="ddp", max_epochs=1, **quiet)
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(1009, 7), batch_size=11))


if __name__ == "__main__":
    start(prepare, TRUTH, world=3, launchers=LAUNCHERS, by=launch)
