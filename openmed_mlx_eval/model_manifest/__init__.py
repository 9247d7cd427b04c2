"""Which models there are, where they lie, and whether they are untouched: manifests of models.

The package's own, models_manifest.json, lists checkpoints of the OpenMed collection; a user's has the same schema
(manifest.schema.json) and lies beside it. Only `pulling` uses the network, and only when it is called.
"""
