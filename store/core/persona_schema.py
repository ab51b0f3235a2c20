"""Peewee models of the personas. Like those of `store.core.schema`, one per table."""

from __future__ import annotations

from peewee import CompositeKey, IntegerField, Model, TextField


class PersonaRow(Model):
    """Who may speak, as it stands now. `builtin` is the key of one that came with Recollect."""

    id = IntegerField(primary_key=True)
    builtin = TextField(null=True, unique=True)
    name = TextField()
    description = TextField()
    system_prompt = TextField()
    version = IntegerField()
    is_edited = IntegerField()
    archived_ms = IntegerField(null=True)
    created_ms = IntegerField()
    updated_ms = IntegerField()

    class Meta:
        table_name = "personas"


class PersonaVersion(Model):
    """What a persona said at one time."""

    persona_id = IntegerField()
    version = IntegerField()
    name = TextField()
    description = TextField()
    system_prompt = TextField()
    saved_ms = IntegerField()

    class Meta:
        table_name = "persona_versions"
        primary_key = CompositeKey("persona_id", "version")


PERSONA_MODELS: tuple[type[Model], ...] = (PersonaRow, PersonaVersion)
