"""The options of commands that compute with a model."""

from backend.operations.common_options import Common, Device, Kind, Model


class CommonWithModel(Common):
    """What commands offer that compute with the dataset's model, or with another."""

    model: Model = None
    scorer: Kind = None
    device: Device = None
