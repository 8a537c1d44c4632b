"""ECN or Delay (Zhu et al., CoNEXT 2016): what its abstract says, in models and in packets."""
