"""ECN or Delay (Zhu et al., CoNEXT 2016): its abstract's claims, in models and in packets."""
