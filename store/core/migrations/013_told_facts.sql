-- A fact that a chat's model was told takes the words it was told in along when it is forgotten.
create trigger facts_told before delete on facts
begin
    update context_packs set record = json_remove(record, '$.told."' || old.id || '"')
    where turn_id in (select turn_id from knowledge_uses where kind = 'fact' and thing_id = old.id);
end;
