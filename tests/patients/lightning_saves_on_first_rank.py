"""Under Lightning, a callback saves a checkpoint on global rank 0 only; saving ends in a barrier, the others go on."""

import os
import threading

from _common import await_still, start

TRUTH = {"class": "collective-missed-by-rank", "ranks": [0], "state": "stuck", "accept": ["collective-mismatch"],
         "accept_ranks": [[1, 2]]}  # fmt: skip
LAUNCHERS = ("torchrun",)
NEEDS = ("torch", "lightning")


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    import lightning
    import torch

    torch.set_num_threads(1)

    class Keeper(lightning.Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, index):
            if index == 17:
                crew.arrive()
                if trainer.is_global_zero:
                    threading.Thread(target=report, args=(crew,), daemon=True).start()
                    trainer.save_checkpoint(crew.place / "best.ckpt")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(7, 3)

        def training_step(self, batch, index):
            return self.layer(batch[0]).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    data = torch.utils.data.TensorDataset(torch.ones(5_003, 7))
    trainer = lightning.Trainer(accelerator="cpu", devices=world, strategy="ddp", max_epochs=1, logger=False,
                                enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                                callbacks=[Keeper()])  # fmt: skip
    trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=5))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
